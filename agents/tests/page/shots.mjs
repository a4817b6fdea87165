// Pictures of every screen, for people to look at: `node shots.mjs FOLDER`.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Agent } from "./agent.mjs";
import { launch, open } from "./browser.mjs";
import { Server } from "./server.mjs";

const folder = process.argv[2];
if (!folder) throw new Error("name a folder for the pictures: node shots.mjs FOLDER");
mkdirSync(folder, { recursive: true });

const server = await Server.start();
const browser = await launch();
try {
    const agent = await Agent.open(server, "first", { agent: "react/some-model-8b" });
    await agent.step();
    await agent.step({
        code: "from sklearn.ensemble import RandomForestClasifier\nmodel = RandomForestClasifier(200)",
        raised: "ImportError",
        observation:
            "Traceback (most recent call last):\n  File \"solution.py\", line 1, in <module>\nImportError: cannot import name 'RandomForestClasifier' from 'sklearn.ensemble'",
    });
    await server.call("POST", "/conversations/first/guidance", {
        id: "one",
        what: {
            text: "The import is misspelt. Before you train, look at products and ratios of the columns: what would the target depend on?",
            about: 1,
        },
    });
    await agent.step();
    await agent.step({ tool: "score", observation: "valid submission; tier: bronze" });
    await agent.step({ observation: "שלום עולם — right to left\n" + "epoch 1 loss 0.52\n".repeat(60) });
    await server.call("PUT", "/conversations/first/verdicts/1", { verdict: "drop", reason: "a slip" });
    await server.call("PUT", "/conversations/first/verdicts/2", { verdict: "keep" });
    await server.call("POST", "/conversations/first/marks", { turn: 2, note: "good idea" });
    await new Promise((done) => setTimeout(done, 1100));
    await server.call("POST", "/conversations/first/guidance", {
        id: "two",
        what: { text: "Ask for the score before you end." },
    });
    const stuck = await Agent.open(server, "stuck", {
        task: "rough-seas-of-the-north",
        agent: "react/another",
    });
    for (let turn = 0; turn < 3; turn++)
        await stuck.step({
            code: `fail(${turn})`,
            raised: "NameError",
            observation: "NameError: name 'fail' is not defined",
        });
    const over = await Agent.open(server, "over", { task: "calm-waters" });
    await over.step();
    await over.close();
    for (const [width, height] of [
        [1280, 800],
        [390, 844],
        [2560, 1300],
    ]) {
        for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
            const { context, page } = await open(browser, { viewport: { width, height }, colorScheme });
            const shot = async (name) => {
                await page.waitForTimeout(350);
                await page.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`) });
                const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
                if (wide > 0) console.log(`${name} is ${wide} px wider than ${width} px`);
            };
            await page.goto(server.url);
            await page.getByRole("link", { name: "night-shifts" }).waitFor();
            await shot("runs");
            await page.goto(`${server.url}/#/run/first`);
            await page.locator("#turn-4").waitFor();
            await page.keyboard.press("g");
            await page.keyboard.press("j");
            await page.keyboard.press("a");
            await page.keyboard.type("Say what you expect before you run it");
            await page.keyboard.press("Escape");
            await shot("run");
            await page.keyboard.press("t");
            await shot("output");
            await page.keyboard.press("t");
            await page.keyboard.press("G");
            await page.keyboard.press("c");
            await page.locator(".part").first().waitFor();
            await shot("context");
            await page.keyboard.press("Escape");
            await page.keyboard.press("?");
            await shot("keys");
            await page.keyboard.press("Escape");
            for (const view of ["review", "replay"]) {
                await page.goto(`${server.url}/#/run/first/${view}`);
                await page.locator(".step").first().waitFor();
                if (view === "review") await page.keyboard.press("j");
                await shot(view);
            }
            await context.close();
        }
    }
} finally {
    await browser.close();
    await server.close();
}
