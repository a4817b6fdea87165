// Keys: the same everywhere, shown beside their buttons, and silent while somebody types.

import { el, fill, isTyping } from "./dom.js";

/** @typedef {import("./types").Action} Action */

/** @type {readonly { key: string, action: Action, does: string }[]} */
export const KEYS = [
    { key: "j", action: "next", does: "next turn" },
    { key: "k", action: "previous", does: "previous turn" },
    { key: "g", action: "first", does: "first turn" },
    { key: "G", action: "last", does: "last turn" },
    { key: "/", action: "search", does: "search in the turns" },
    { key: "n", action: "found-next", does: "next turn that was found" },
    { key: "N", action: "found-previous", does: "previous turn that was found" },
    { key: "[", action: "run-previous", does: "previous run that needs a look" },
    { key: "]", action: "run-next", does: "next run that needs a look" },
    { key: "i", action: "input", does: "write advice" },
    { key: "a", action: "advise", does: "write advice about this turn" },
    { key: "h", action: "hold", does: "hold the run, or release it" },
    { key: "c", action: "context", does: "what the agent had read at this turn" },
    { key: "f", action: "files", does: "the submission" },
    { key: "t", action: "output", does: "output of the last script" },
    { key: "x", action: "drop", does: "verdict on this turn: drop" },
    { key: "v", action: "keep", does: "verdict on this turn: keep" },
    { key: "u", action: "undecided", does: "verdict on this turn: undecided" },
    { key: "m", action: "mark", does: "mark this turn with a note" },
    { key: "?", action: "help", does: "these keys" },
];

/** Keys inside the field for advice. */
const IN_FIELDS = [
    ["Ctrl+Enter", "send the advice"],
    ["Esc", "leave the field; the text is kept"],
];

/**
 * The key of an action.
 * @param {Action} action
 */
export function keyOf(action) {
    return KEYS.find((entry) => entry.action === action)?.key ?? null;
}

/**
 * Has keys do what the screen says.
 * @param {() => Partial<Record<Action, () => void>>} actions of the screen that is shown
 */
export function listen(actions) {
    document.addEventListener("keydown", (event) => {
        if (event.key === "Escape" && isTyping()) {
            /** @type {HTMLElement} */ (document.activeElement).blur();
            return;
        }
        if (isTyping() || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
        // A dialog has the keyboard to itself.
        if (document.querySelector("dialog[open]")) return;
        const entry = KEYS.find(({ key }) => key === event.key);
        const does = entry && (entry.action === "help" ? help : actions()[entry.action]);
        if (!does) return;
        event.preventDefault();
        does();
    });
}

/** Shows the keys. */
export function help() {
    /** @param {string} key @param {string} does */
    const row = (key, does) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, does)];
    const keys = KEYS.flatMap(({ key, does }) => row(key, does));
    const fields = IN_FIELDS.flatMap(([key, does]) => row(key, does));
    dialog(
        "Keys",
        el("p", { class: "faint" }, "Keys do nothing while a text field has the focus."),
        el("dl", { class: "keys" }, ...keys),
        el("h3", {}, "In the field for advice"),
        el("dl", { class: "keys" }, ...fields),
    );
}

/**
 * Opens a dialog; Escape and its button close it, and the focus goes back.
 * @param {string} title
 * @param {...Node} content
 */
export function dialog(title, ...content) {
    const before = document.activeElement;
    const made = el("dialog", { "aria-labelledby": "dialog-title" });
    fill(
        made,
        el(
            "header",
            {},
            el("h2", { id: "dialog-title" }, title),
            el("button", { type: "button", onclick: () => made.close() }, "Close", el("kbd", {}, "Esc")),
        ),
        ...content,
    );
    made.addEventListener("close", () => {
        made.remove();
        if (before instanceof HTMLElement) before.focus();
    });
    document.body.append(made);
    made.showModal();
    return made;
}
