// What stands beside the turns: the submission, and the output of the last script.

import { el, fill } from "./dom.js";
import { outcome, showText } from "./step.js";

/** @typedef {import("./conversation.js").Conversation} Conversation */

export class Panes {
    /**
     * @param {Conversation} conversation
     * @param {() => void} onHide
     */
    constructor(conversation, onHide) {
        this.conversation = conversation;
        this.onHide = onHide;
        this.told = el("div", {
            class: "pane-body",
            tabindex: "0",
            role: "group",
            "aria-label": "What the agent was told of its submission",
        });
        this.output = el("pre", {
            class: "pane-body observation",
            tabindex: "0",
            role: "group",
            "aria-label": "Output",
        });
        this.which = el("small", { class: "faint" });
        this.files = el(
            "section",
            { class: "pane", "aria-label": "Submission" },
            el("h2", {}, "Submission", el("kbd", { "aria-hidden": "true" }, "f"), this.closer("files")),
            this.told,
        );
        this.last = el(
            "section",
            { class: "pane", "aria-label": "Output of the last script" },
            el(
                "h2",
                {},
                "Output",
                el("kbd", { "aria-hidden": "true" }, "t"),
                " ",
                this.which,
                this.closer("output"),
            ),
            this.output,
        );
        this.root = el("div", { class: "panes" }, this.files, this.last);
        this.shownOutput = -1;
        this.refresh();
    }

    /** Shows the latest. Only loaded turns are looked at: the last page of turns is. */
    refresh() {
        const turns = [...this.conversation.turns.values()].sort((one, other) => other.turn - one.turn);
        const asked = turns
            .filter((turn) => turn.record.tool === "score" && turn.observation !== null)
            .slice(0, 20);
        fill(
            this.told,
            asked.length === 0 && el("p", { class: "faint" }, "The agent has not asked for a score lately."),
            el(
                "ul",
                {},
                ...asked.map((turn) => {
                    const text = el("span", { class: "text" });
                    showText(this.conversation.id, turn.observation, text, (said) => [
                        document.createTextNode(said.trim()),
                    ]);
                    return el("li", {}, el("small", { class: "faint" }, `Turn ${turn.turn}: `), text);
                }),
            ),
            el(
                "p",
                { class: "faint" },
                "The files of a run are not told to this server: only what the agent asked of its submission is.",
            ),
        );
        const script = turns.find((turn) => turn.record.tool === "python" && turn.observation !== null);
        if (!script) {
            fill(this.output, el("span", { class: "faint" }, "No script has run lately."));
            return;
        }
        if (script.turn === this.shownOutput) return;
        this.shownOutput = script.turn;
        const ending = outcome(script);
        fill(
            this.which,
            `turn ${script.turn}: `,
            el("span", { class: ending.failed ? "bad" : "good" }, ending.text),
        );
        showText(this.conversation.id, script.observation, this.output, (text) => [
            document.createTextNode(text.trim() || "(empty)"),
        ]);
    }

    /**
     * A button that is there where a pane lies over the turns.
     * @param {"files" | "output"} which
     */
    closer(which) {
        const label = which === "files" ? "Close the submission" : "Close the output";
        return el(
            "button",
            { type: "button", class: "closer", "aria-label": label, onclick: () => this.hide() },
            "Close",
        );
    }

    hide() {
        for (const one of [this.files, this.last]) one.classList.remove("chosen");
        this.onHide();
    }

    /**
     * Goes to a pane, or back from it.
     * @param {"files" | "output"} which
     */
    show(which) {
        const [pane, body] = which === "files" ? [this.files, this.told] : [this.last, this.output];
        const isShown = pane.classList.contains("chosen") && pane.contains(document.activeElement);
        if (isShown) {
            this.hide();
            return;
        }
        for (const one of [this.files, this.last]) one.classList.remove("chosen");
        pane.classList.add("chosen");
        body.focus();
    }
}
