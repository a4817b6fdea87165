// One turn of an agent: thought, action, what it was answered, and what people say of it.

import { at, call, whole } from "./api.js";
import { coloured, script } from "./code.js";
import { counted, el, fill, notice, size } from "./dom.js";

/** @typedef {import("./types").Turn} Turn */
/** @typedef {import("./conversation.js").Conversation} Conversation */

/** Longest text that is fetched without being asked for, in bytes. */
const UNASKED = 64 * 1024;

/**
 * How a turn ended, in words.
 * @param {Turn} turn
 * @returns {{ text: string, failed: boolean }}
 */
export function outcome({ record }) {
    if (record.tool === "malformed") return { text: "malformed", failed: true };
    const ending = record.outcome;
    if (!ending) return { text: "", failed: false };
    switch (ending.outcome) {
        case "finished":
            return { text: "finished", failed: false };
        case "raised":
            return { text: `raised ${ending.exception}`, failed: true };
        case "exited":
            return { text: `exited with code ${ending.code}`, failed: true };
        case "killed":
            return { text: `killed by signal ${ending.signal}`, failed: true };
        default:
            return { text: ending.outcome.replaceAll("_", " "), failed: true };
    }
}

/**
 * What a turn did, in a word.
 * @param {Turn} turn
 */
export function tool({ record }) {
    return record.tool === "python" ? "script" : record.tool;
}

/**
 * Shows a text in an element, a long one when it has come, a very long one when it is asked for.
 * @param {string} id of the conversation
 * @param {import("./types").StoredText | null} text
 * @param {HTMLElement} place
 * @param {(text: string) => Node[]} nodes
 */
export function showText(id, text, place, nodes) {
    if (text === null || typeof text === "string") {
        fill(place, ...nodes(text ?? ""));
        return;
    }
    const fetched = async () => {
        fill(place, el("span", { class: "faint" }, `Loading ${size(text.bytes)} …`));
        try {
            fill(place, ...nodes(await whole(id, text)));
        } catch (error) {
            const again = el("button", { type: "button", onclick: fetched }, "Try again");
            fill(place, el("span", { class: "bad" }, `${/** @type {Error} */ (error).message} `), again);
        }
    };
    if (text.bytes <= UNASKED) fetched();
    else fill(place, el("button", { type: "button", onclick: fetched }, `Show ${size(text.bytes)}`));
}

/** @param {string} text @returns {Node[]} */
const plain = (text) => [document.createTextNode(text)];

/**
 * A block of text that scrolls by itself.
 * @param {string} label
 * @param {string} kind
 */
function block(label, kind) {
    return el("pre", { class: kind, tabindex: "0", role: "group", "aria-label": label });
}

/**
 * A piece of guidance where the agent read it.
 * @param {import("./types").Piece} piece
 */
export function heard(piece) {
    const about = piece.what.about === undefined ? "" : `, about turn ${piece.what.about}`;
    return el(
        "div",
        { class: "heard", role: "note", "aria-label": "advice" },
        el("small", {}, "Advice of ", el("bdi", {}, piece.by), about),
        el("p", { class: "text" }, piece.what.text),
    );
}

/**
 * A summary that the agent wrote before a turn.
 * @param {string} id of the conversation
 * @param {NonNullable<Turn["summaries"]>[number]} summary
 */
function summaryOf(id, { replaces, text }) {
    const body = el("div", { class: "text" });
    const title = `Summary of ${counted(replaces.length, "turn")}, ${replaces[0]} to ${replaces.at(-1)}`;
    const folded = el("details", { class: "thought summarised" }, el("summary", {}, title), body);
    folded.addEventListener("toggle", () => showText(id, text, body, plain), { once: true });
    return folded;
}

/**
 * The element of a turn.
 * @param {Conversation} conversation
 * @param {Turn} turn
 * @param {boolean} [isOpen] whether its thought is shown
 */
export function step(conversation, turn, isOpen = false) {
    const id = conversation.id;
    const ending = outcome(turn);
    const title = `Turn ${turn.turn}: ${tool(turn)}${ending.text ? `, ${ending.text}` : ""}`;
    const seconds = turn.record.seconds > 0 ? `${turn.record.seconds.toFixed(1)} s` : "";
    const parts = [];
    if (turn.thought !== "") {
        const text = el("div", { class: "text" });
        const folded = el("details", { class: "thought", open: isOpen }, el("summary", {}, "Thought"), text);
        const show = () =>
            showText(id, turn.thought, text, (said) =>
                plain(said.replace(/^\s*<think>|<\/think>\s*$/g, "").trim()),
            );
        if (isOpen) show();
        else folded.addEventListener("toggle", show, { once: true });
        parts.push(folded);
    }
    const action = block(`Action of turn ${turn.turn}`, "action");
    showText(id, turn.action, action, (text) => {
        const { code, rest } = script(text);
        return code === null ? plain(rest) : coloured(code);
    });
    parts.push(action);
    if (turn.observation !== null) {
        const observation = block(`Answer to turn ${turn.turn}`, "observation");
        showText(id, turn.observation, observation, (text) => plain(text.trim() || "(empty)"));
        parts.push(observation);
    }
    const made = el(
        "article",
        {
            class: "step",
            id: `turn-${turn.turn}`,
            tabindex: "-1",
            "aria-label": title,
            "data-turn": turn.turn,
        },
        el("div", { class: "before" }),
        ...(turn.summaries ?? []).map((summary) => summaryOf(id, summary)),
        el(
            "header",
            {},
            el("strong", {}, `Turn ${turn.turn}`),
            el("span", {}, tool(turn)),
            ending.text && el("span", { class: ending.failed ? "bad" : "good" }, ending.text),
            el("span", { class: "faint" }, seconds),
            turn.record.cached &&
                el("span", { class: "faint", title: "The answer is a recorded one." }, "recorded"),
            turn.left_out?.length &&
                el("span", { class: "faint" }, `without ${counted(turn.left_out.length, "earlier turn")}`),
            el("span", { class: "said" }),
        ),
        ...parts,
    );
    refresh(made, conversation, turn.turn);
    return made;
}

/**
 * Shows again what people said of a turn.
 * @param {HTMLElement} made
 * @param {Conversation} conversation
 * @param {number} turn
 */
export function refresh(made, conversation, turn) {
    const before = made.querySelector(".before");
    const said = made.querySelector(".said");
    if (!before || !said) return;
    fill(before, ...conversation.heardBefore(turn).map(heard));
    const verdict = conversation.verdict(turn);
    const words = { keep: "keep", drop: "drop", undecided: "" };
    const marks = conversation.marks.filter((mark) => mark.turn === turn);
    fill(
        said,
        verdict &&
            el(
                "span",
                {
                    class: `verdict ${verdict.verdict}`,
                    title: `${verdict.by}${verdict.reason ? `: ${verdict.reason}` : ""}`,
                },
                words[verdict.verdict],
            ),
        ...marks.map((mark) => el("span", { class: "marked" }, "⚑ ", el("bdi", {}, mark.note || mark.by))),
    );
}

/**
 * Tells the server a verdict.
 * @param {Conversation} conversation
 * @param {number} turn
 * @param {import("./types").VerdictWord} verdict
 * @param {string} reason
 */
export async function judge(conversation, turn, verdict, reason) {
    try {
        await call("PUT", at(conversation.id, `/verdicts/${turn}`), { verdict, reason });
    } catch (error) {
        notice(`The verdict was not kept: ${/** @type {Error} */ (error).message}`);
        return false;
    }
    return true;
}
