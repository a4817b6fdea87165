// A conversation as it was after each of its events.

import { at, call } from "./api.js";
import { Conversation } from "./conversation.js";
import { counted, el, fill } from "./dom.js";
import { linkTo, stateText } from "./list.js";
import { sourceOf } from "./run.js";
import { outcome, tool } from "./step.js";
import { Steps } from "./steps.js";

/** @typedef {import("./types").Line} Line */

/** Speeds, in events a second. */
const SPEEDS = [1, 2, 5, 20];

/**
 * An event in words.
 * @param {Line} line
 */
function words({ by, event }) {
    const who = by ?? "somebody";
    switch (event.kind) {
        case "opened":
            return "the agent opened the conversation";
        case "turn": {
            const turn = /** @type {any} */ (event);
            return `turn ${turn.turn}: ${tool(turn)} ${outcome(turn).text}`;
        }
        case "guidance":
            return `${who} gave advice`;
        case "edited":
            return `${who} changed advice`;
        case "retracted":
            return `${who} retracted advice`;
        case "sent":
            return `${counted(event.ids.length, "piece")} of advice sent to the agent`;
        case "acknowledged":
            return "the agent has read the advice";
        case "late":
            return `${counted(event.ids.length, "piece")} of advice came too late`;
        case "held":
            return `${who} holds the run`;
        case "released":
            return `the run goes on (${event.why})`;
        case "draft":
            return `${who} was writing`;
        case "mark":
            return `${who} marked turn ${event.turn}`;
        case "verdict":
            return `${who} judged turn ${event.turn}: ${event.verdict}`;
        case "lost":
            return "nothing was heard of the agent for long";
        case "resumed":
            return "the agent came back";
        case "closed":
            return `the run ended: ${event.ending}`;
        default:
            return event.kind;
    }
}

/**
 * All lines of the journal.
 * @param {string} id
 * @param {(count: number) => void} told
 */
async function journal(id, told) {
    /** @type {Line[]} */
    const all = [];
    for (let from = 0; ;) {
        const { lines, next } = await call("GET", at(id, `/journal?from=${from}`));
        all.push(...lines);
        told(all.length);
        if (next === from) return all;
        from = next;
    }
}

/**
 * @param {string} id
 * @returns {Promise<import("./types").Screen>}
 */
export async function replay(id) {
    const lines = await journal(id, () => {});
    let shown = new Conversation(id);
    let done = 0;
    const steps = new Steps(
        {
            count: () => shown.count,
            has: (turn) => shown.turns.has(turn),
            load: async () => {},
            draw: (turn) => sourceOf(shown).draw(turn),
            refresh: (made, turn) => sourceOf(shown).refresh(made, turn),
        },
        () => {},
    );
    const slider = el("input", {
        type: "range",
        min: 1,
        max: lines.length,
        value: lines.length,
        "aria-label": "Event",
    });
    const said = el("span", { role: "status" });
    const state = el("span", { class: "state" });
    const pieces = el("ul", { class: "pieces", "aria-label": "Advice" });
    const play = el("button", { type: "button", class: "primary" }, "Play");
    const speed = el(
        "select",
        { "aria-label": "Speed" },
        ...SPEEDS.map((value) => el("option", { value }, `${value} events a second`)),
    );
    speed.value = "5";
    /** @type {number | undefined} */
    let timer;

    /** @param {number} count events that are taken up */
    function show(count) {
        const wanted = Math.max(1, Math.min(count, lines.length));
        if (wanted < done) {
            shown = new Conversation(id);
            done = 0;
        }
        /** @type {Set<number>} */
        const touched = new Set();
        for (; done < wanted; done++) {
            shown.apply(lines[done]);
            const { kind, turn } = lines[done].event;
            if (kind === "mark" || kind === "verdict") touched.add(turn);
        }
        const line = lines[wanted - 1];
        slider.value = String(wanted);
        const at = new Date(line.at).toLocaleString();
        slider.setAttribute("aria-valuetext", `event ${wanted} of ${lines.length}: ${words(line)}`);
        fill(said, `${wanted} of ${lines.length}, ${at}: `, el("bdi", {}, words(line)));
        state.className = `state ${shown.state}`;
        state.textContent = `${stateText(shown.state)}, ${shown.count} of ${shown.budget} turns`;
        fill(
            pieces,
            ...[...shown.guidance.values()]
                .slice(-4)
                .map((piece) =>
                    el(
                        "li",
                        { class: piece.state },
                        el("small", {}, el("bdi", {}, piece.by), ": "),
                        el("span", { class: "text" }, piece.what.text),
                        " ",
                        el("small", { class: "became" }, piece.state),
                    ),
                ),
        );
        pieces.hidden = shown.guidance.size === 0;
        steps.grow();
        // What people said of a turn may be more now, or less.
        for (const made of steps.root.querySelectorAll(".step"))
            steps.refresh(Number(/** @type {HTMLElement} */ (made).dataset.turn));
        if (shown.count > 0) steps.choose(shown.count - 1, false);
        // The screen may not be in the document yet.
        requestAnimationFrame(reveal);
    }

    async function reveal() {
        const chunk = steps.chunks.at(-1);
        if (chunk) await steps.draw(chunk, true);
        const last = steps.drawn(shown.count - 1);
        if (last) steps.bring(last);
    }

    function stop() {
        clearInterval(timer);
        timer = undefined;
        play.textContent = "Play";
    }
    play.addEventListener("click", () => {
        if (timer !== undefined) {
            stop();
            return;
        }
        if (done >= lines.length) show(1);
        play.textContent = "Stop";
        timer = window.setInterval(
            () => (done >= lines.length ? stop() : show(done + 1)),
            1000 / Number(speed.value),
        );
    });
    speed.addEventListener("change", () => {
        if (timer === undefined) return;
        stop();
        play.click();
    });
    slider.addEventListener("input", () => {
        stop();
        show(Number(slider.value));
    });

    show(lines.length);
    const task = shown.task;
    const root = el(
        "div",
        { class: "screen replay" },
        el(
            "header",
            { class: "head" },
            el(
                "h1",
                {},
                "Replay of ",
                el("bdi", {}, task),
                " ",
                el("small", {}, el("a", { href: linkTo(id) }, "the run")),
            ),
            el("div", { class: "slider" }, play, speed, slider),
            el("p", {}, state, " ", said),
            pieces,
        ),
        steps.root,
    );
    return {
        root,
        title: `Replay: ${task}`,
        watch: null,
        from: () => 0,
        actions: {
            next: () => show(done + 1),
            previous: () => show(done - 1),
            first: () => show(1),
            last: () => show(lines.length),
        },
        close() {
            stop();
            steps.close();
        },
    };
}
