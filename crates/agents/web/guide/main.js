// The page: which screen is shown, who is there, and the stream.

import { ApiError, call } from "./api.js";
import { el, fill } from "./dom.js";
import { help, listen } from "./keys.js";
import { Headlines } from "./list.js";
import { replay } from "./replay.js";
import { review } from "./review.js";
import { missing, run } from "./run.js";
import { runs } from "./runs.js";
import { signIn } from "./signin.js";
import { Stream } from "./stream.js";

/** @param {string} id */
const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** @type {Record<import("./stream.js").StreamState, string>} */
const STATES = {
    connecting: "connecting …",
    live: "live",
    gone: "the server does not answer; trying again",
    paused: "paused while hidden",
    unknown: "the server does not know this run (any more)",
};

/** Time between two tries to reach a server that is gone, in milliseconds. */
const RETRY = 1000;

const headlines = new Headlines();
/** @type {import("./types").Me | null} */
let me = null;
/** @type {import("./types").Screen | null} */
let screen = null;
/** Counts screens: one that took long to load is not shown over a later one. */
let opened = 0;

const stream = new Stream((state) => {
    const place = byId("stream");
    place.className = state;
    place.textContent = screen ? STATES[state] : "";
});
/** @param {import("./types").Headline} headline */
stream.onHeadline = (headline) => {
    headlines.all.set(headline.id, headline);
};

/** Ends the screen that is shown. */
function leave() {
    stream.follow(null);
    screen?.close?.();
    screen = null;
    for (const open of document.querySelectorAll("dialog[open]"))
        /** @type {HTMLDialogElement} */ (open).close();
}

/** Opens the screen that the address names. */
async function open() {
    const number = ++opened;
    leave();
    if (!me) return;
    const [kind = "", id = "", view = ""] = location.hash.replace(/^#\//, "").split("/");
    /** @type {import("./types").Screen} */
    let next;
    try {
        const name = decodeURIComponent(id);
        if (kind !== "run") next = runs(headlines);
        else if (view === "review") next = await review(name, me, open);
        else if (view === "replay") next = await replay(name);
        else next = await run(name, me, headlines, open);
    } catch (error) {
        if (number === opened && me) {
            fill(byId("app"), missing(error));
            fill(byId("place"));
            const isPassing = error instanceof ApiError && error.status === 0;
            if (isPassing) setTimeout(() => number === opened && open(), RETRY);
        }
        return;
    }
    if (number !== opened) {
        next.close?.();
        return;
    }
    screen = next;
    document.title = next.title;
    fill(byId("place"), kind === "run" ? "/ " : "", kind === "run" ? el("bdi", {}, next.title) : "");
    fill(byId("app"), next.root);
    stream.follow(next);
}

/** Finds out who is there, and shows the page or the form to sign in. */
async function begin() {
    try {
        me = await call("GET", "/me");
    } catch (error) {
        if (me === null && !(error instanceof ApiError && error.status === 401)) {
            fill(
                byId("app"),
                el(
                    "p",
                    { class: "screen plain bad" },
                    `${/** @type {Error} */ (error).message}; trying again …`,
                ),
            );
            setTimeout(begin, RETRY);
        }
        return;
    }
    fill(byId("who"), el("bdi", {}, me?.name ?? ""), me?.advises ? "" : " (may look)");
    byId("out").hidden = me?.name === "local";
    open();
}

window.addEventListener("signed-out", () => {
    leave();
    me = null;
    fill(byId("who"));
    byId("out").hidden = true;
    fill(byId("place"));
    if (!document.querySelector("form.signin")) fill(byId("app"), signIn(begin));
});
window.addEventListener("hashchange", open);
byId("help").addEventListener("click", help);
byId("out").addEventListener("click", async () => {
    await call("DELETE", "/session").catch(() => {});
    window.dispatchEvent(new Event("signed-out"));
});
listen(() => screen?.actions ?? {});
begin();
