// What the agent had read when it took a turn.

import { at, call } from "./api.js";
import { counted, el, fill } from "./dom.js";
import { dialog } from "./keys.js";

/** @type {Record<import("./types").ContextPart["source"], string>} */
const SOURCES = {
    prompt: "Prompt",
    model: "Agent",
    environment: "Environment",
    guide: "Advice of a person",
};

/** Longest part that is shown unfolded, in characters. */
const UNFOLDED = 2000;

/**
 * @param {string} id of the conversation
 * @param {number} turn
 */
export async function context(id, turn) {
    const body = el("div", { class: "context" }, el("p", { class: "faint" }, "Loading …"));
    const shown = dialog(`What the agent had read before turn ${turn}`, body);
    shown.classList.add("wide");
    /** @type {import("./types").ContextPart[]} */
    let parts;
    try {
        ({ parts } = await call("GET", at(id, `/context/${turn}`)));
    } catch (error) {
        fill(body, el("p", { class: "bad" }, /** @type {Error} */ (error).message));
        return;
    }
    const characters = parts.reduce((sum, { text }) => sum + text.length, 0);
    fill(
        body,
        el(
            "p",
            { class: "faint" },
            `${counted(parts.length, "part")}, ${counted(characters, "character")}. Tokens are counted by the model, and this server is not told how many.`,
        ),
        ...parts.map(({ source, turn: of, text, is_summary: isSummary }) => {
            const title = isSummary
                ? "Summary of its own, of turns that are no longer shown"
                : `${SOURCES[source]}${of === null ? "" : `, turn ${of}`}`;
            const said = el("pre", { class: "text" });
            const made = el(
                "details",
                { class: `part ${isSummary ? "summary" : source}`, open: text.length <= UNFOLDED },
                el(
                    "summary",
                    {},
                    title,
                    el("small", { class: "faint" }, ` ${counted(text.length, "character")}`),
                ),
                said,
            );
            // A folded text of megabytes is not laid out before it is asked for.
            if (made.open) said.textContent = text;
            else made.addEventListener("toggle", () => (said.textContent = text), { once: true });
            return made;
        }),
    );
    body.lastElementChild?.scrollIntoView({ block: "nearest" });
}
