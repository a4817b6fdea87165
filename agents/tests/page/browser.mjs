// Chromium of the system.

import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { chromium } from "playwright-core";

const PLACES = [
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
    "/snap/bin/chromium",
];

const program = process.env.CHROMIUM ?? PLACES.find((place) => existsSync(place));
if (!program || !existsSync(program)) {
    throw new Error(
        `there is no Chromium${program ? ` at ${program}` : ""}; install it with \`apt-get install chromium\`, or name one with CHROMIUM`,
    );
}

/** A browser. As root Chromium cannot have its sandbox; it sees only pages of these tests. */
export function launch() {
    const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
    return chromium.launch({ executablePath: program, args });
}

/** Files of the page, as they are in the tree. */
const FILES = resolve(import.meta.dirname, "../../../crates/agents/web/guide");

/** With LIVE=1 the page's files are those of the tree and not those of the program, to work on them without a build. */
async function live(context) {
    await context.route("**/assets/*", async (route) => {
        const name = new URL(route.request().url()).pathname.split("/").at(-1);
        const response = await route.fetch();
        let body = readFileSync(join(FILES, name), "utf8");
        // The program puts the style sheet of all pages before it.
        if (name === "style.css") body = (await response.text()).split(body.split("\n")[0])[0] + body;
        await route.fulfill({ response, body });
    });
}

/** A page of its own, with what went wrong on it. */
export async function open(browser, options = {}) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
    if (process.env.LIVE) await live(context);
    const page = await context.newPage();
    page.setDefaultTimeout(10_000);
    const errors = [];
    page.on("pageerror", (error) => errors.push(String(error)));
    page.on("dialog", (dialog) => {
        errors.push(`a dialog: ${dialog.message()}`);
        dialog.dismiss();
    });
    await page.addInitScript(() => {
        document.addEventListener("securitypolicyviolation", (event) => {
            console.warn(`violation: ${event.violatedDirective} ${event.blockedURI}`);
        });
    });
    page.on("console", (message) => {
        if (message.text().startsWith("violation:")) errors.push(message.text());
    });
    return { context, page, errors };
}

/** Notes when each turn of a run is first on its page. */
export function noteTurns(page) {
    return page.evaluate(() => {
        window.shown = {};
        const note = () => {
            for (const step of document.querySelectorAll(".step"))
                window.shown[step.dataset.turn] ??= Date.now();
        };
        new MutationObserver(note).observe(document.body, { subtree: true, childList: true });
    });
}

/** When a turn was first there, in milliseconds since 1970; waits for it. */
export async function whenShown(page, turn) {
    const at = await page.waitForFunction((turn) => window.shown[turn], turn);
    return at.jsonValue();
}
