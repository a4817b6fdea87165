// Where advice is written, and what became of it.

import { ApiError, at, call } from "./api.js";
import { announce, button, el, fill, notice } from "./dom.js";
import { Draft } from "./draft.js";

/** @typedef {import("./types").Piece} Piece */

/** Time between two tries to send to a server that is gone, in milliseconds. */
const RETRY = 1500;
/** Most bytes of a piece. */
const LONGEST = 8192;
/** Pieces that are shown besides those that wait. */
const SHOWN = 3;

/** @param {Piece} piece @param {number | null} before */
function stateText(piece, before) {
    switch (piece.state) {
        case "queued":
            return "queued: the agent reads it before its next turn";
        case "sent":
            return "sent: the agent has not confirmed it yet";
        case "acknowledged":
            return before === null ? "read by the agent" : `read before turn ${before}`;
        case "late":
            return "late: the run ended before the agent could read it; kept as a comment";
        case "retracted":
            return "retracted";
    }
}

export class Compose {
    /**
     * @param {import("./conversation.js").Conversation} conversation
     * @param {import("./types").Me} me
     * @param {string | null} draft what the server has
     */
    constructor(conversation, me, draft) {
        this.conversation = conversation;
        this.me = me;
        this.draft = new Draft(conversation.id, me.name, draft);
        this.isSending = false;
        this.isClosed = false;
        /** @type {string | null} The piece that is being edited. */
        this.editing = null;
        this.all = false;

        this.field = el("textarea", {
            rows: 2,
            "aria-label": "Advice for the agent",
            "aria-keyshortcuts": "i Control+Enter Escape",
            placeholder: "Advice: how to find out, what to check, when to wait, what to value",
        });
        this.field.value = this.draft.kept.text;
        this.field.addEventListener("input", () => this.changed());
        this.field.addEventListener("keydown", (event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
                event.preventDefault();
                this.send();
            }
        });
        this.aboutText = el("span", {});
        this.drop = el("input", { type: "checkbox" });
        this.drop.checked = this.draft.kept.drop;
        this.drop.addEventListener("change", () => this.changed());
        this.about = el(
            "div",
            { class: "about" },
            this.aboutText,
            el("label", {}, this.drop, " the agent should not learn from this turn"),
            el("button", { type: "button", onclick: () => this.setAbout(null) }, "About the whole run"),
        );
        this.sender = button("Send", "Ctrl+Enter", () => this.send(), { class: "primary" });
        this.left = el("small", { class: "faint", role: "status" });
        this.pieces = el("ul", { class: "pieces", "aria-label": "Advice so far" });
        this.root = el(
            "section",
            { class: "compose", "aria-label": "Advice" },
            this.pieces,
            this.about,
            el(
                "div",
                { class: "field" },
                this.field,
                el(
                    "div",
                    { class: "send" },
                    this.sender,
                    el(
                        "small",
                        { class: "faint" },
                        el("kbd", {}, "i"),
                        " write ",
                        el("kbd", {}, "Esc"),
                        " leave",
                    ),
                ),
            ),
            this.left,
        );
        this.shown();
        this.refresh();
    }

    changed() {
        this.draft.set(this.field.value, this.draft.kept.about, this.drop.checked);
        this.shown();
    }

    /** @param {number | null} turn */
    setAbout(turn) {
        if (turn === null) this.drop.checked = false;
        this.draft.set(this.field.value, turn, this.drop.checked);
        this.shown();
        this.field.focus();
    }

    /** Shows what belongs to the text. */
    shown() {
        const { about } = this.draft.kept;
        this.about.hidden = about === null;
        this.aboutText.textContent = `About turn ${about} `;
        const bytes = new TextEncoder().encode(this.field.value).length;
        const isLong = bytes > LONGEST;
        this.sender.disabled = this.isSending || isLong || this.field.value.trim() === "";
        this.field.readOnly = this.isSending;
        if (!this.isSending) {
            this.left.className = isLong ? "bad" : "faint";
            this.left.textContent = bytes > LONGEST / 2 ? `${bytes} of at most ${LONGEST} bytes` : "";
        }
    }

    /** @param {string} text @param {boolean} isBad */
    say(text, isBad) {
        this.left.className = isBad ? "bad" : "faint";
        this.left.textContent = text;
    }

    /** Sends what is in the field, under one name until the server has answered. */
    async send() {
        const { text, about, drop, piece } = this.draft.kept;
        if (this.isSending || text.trim() === "") return;
        const what = /** @type {import("./types").What} */ ({ text });
        if (about !== null) what.about = about;
        if (about !== null && drop) what.drop = { from: about, to: about };
        this.isSending = true;
        this.shown();
        this.say("Sending …", false);
        /** @type {Piece | null} */
        let posted = null;
        while (!posted) {
            try {
                posted = await call("POST", at(this.conversation.id, "/guidance"), { id: piece, what });
            } catch (error) {
                if (!(error instanceof ApiError)) throw error;
                if (error.code === "late" && error.piece) {
                    posted = error.piece;
                    notice("The run ended before the agent could read this. It is kept as a comment.");
                    break;
                }
                const isPassing =
                    error.status === 0 ||
                    error.code === "pace" ||
                    error.status === 502 ||
                    error.status === 503;
                if (!isPassing || this.isClosed) {
                    this.isSending = false;
                    this.shown();
                    this.say(`Not sent: ${error.message}. The text stays here.`, true);
                    return;
                }
                if (error.code !== "pace")
                    this.say("The server does not answer. This is sent as soon as it does.", true);
                await new Promise((done) => setTimeout(done, RETRY));
            }
        }
        this.isSending = false;
        // The stream may have brought it already, and what came of it.
        if (!this.conversation.guidance.has(posted.seq)) this.conversation.guidance.set(posted.seq, posted);
        this.field.value = "";
        this.drop.checked = false;
        this.draft.set("", null, false);
        this.shown();
        this.say("", false);
        announce("The advice is queued.");
        this.refresh();
    }

    /** Shows the pieces as they are. */
    refresh() {
        const all = [...this.conversation.guidance.values()].sort((one, other) => one.seq - other.seq);
        const pending = all.filter((piece) => piece.state === "queued" || piece.state === "sent");
        const others = all.filter((piece) => !pending.includes(piece));
        const shown = this.all
            ? all
            : [...others.slice(-SHOWN), ...pending].sort((one, other) => one.seq - other.seq);
        if (this.editing) {
            const piece = this.conversation.find(this.editing);
            const open = this.pieces.querySelector("li.editing textarea");
            if (piece?.state === "queued") {
                if (open) return;
            } else {
                const text = open instanceof HTMLTextAreaElement ? open.value : "";
                this.editing = null;
                notice("The agent has this advice already: the change was not made.");
                if (text && this.field.value === "") {
                    this.field.value = text;
                    this.changed();
                }
            }
        }
        const more = all.length - shown.length;
        fill(
            this.pieces,
            more > 0 &&
                el(
                    "li",
                    {},
                    el("button", { type: "button", onclick: () => this.showAll() }, `Show ${more} earlier`),
                ),
            ...shown.map((piece) => this.item(piece)),
        );
        this.pieces.hidden = all.length === 0;
        this.pieces.scrollTop = this.pieces.scrollHeight;
    }

    showAll() {
        this.all = true;
        this.refresh();
    }

    /** @param {Piece} piece */
    item(piece) {
        const isMine = piece.by === this.me.name || this.me.leads;
        const about = piece.what.about === undefined ? "" : ` about turn ${piece.what.about}`;
        const text = el("span", { class: "text" }, piece.what.text);
        const made = el(
            "li",
            { class: piece.state, "data-piece": piece.id },
            el("small", {}, el("bdi", {}, piece.by), `${about}: `),
            text,
            " ",
            el("small", { class: "became" }, stateText(piece, this.conversation.readBefore(piece))),
        );
        if (piece.state === "queued" && isMine && this.me.advises) {
            made.append(
                " ",
                el("button", { type: "button", onclick: () => this.edit(piece, made) }, "Edit"),
                el("button", { type: "button", onclick: () => this.retract(piece) }, "Retract"),
            );
        }
        return made;
    }

    /** @param {Piece} piece @param {HTMLElement} item */
    edit(piece, item) {
        this.editing = piece.id;
        const field = el("textarea", { rows: 3, "aria-label": "Change the advice" });
        field.value = piece.what.text;
        const done = () => {
            this.editing = null;
            this.refresh();
        };
        const save = async () => {
            const what = { ...piece.what, text: field.value };
            try {
                const changed = await call("PATCH", at(this.conversation.id, `/guidance/${piece.id}`), what);
                this.conversation.guidance.set(piece.seq, changed);
            } catch (error) {
                notice(`The advice was not changed: ${/** @type {Error} */ (error).message}`);
                if (error instanceof ApiError && error.status === 0) return;
                if (error instanceof ApiError && error.piece)
                    this.conversation.guidance.set(piece.seq, error.piece);
            }
            done();
        };
        field.addEventListener("keydown", (event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save();
        });
        item.className = "editing";
        fill(
            item,
            field,
            button("Save", "Ctrl+Enter", save, { class: "primary" }),
            el("button", { type: "button", onclick: done }, "Leave as it was"),
        );
        field.focus();
    }

    /** @param {Piece} piece */
    async retract(piece) {
        try {
            const changed = await call("DELETE", at(this.conversation.id, `/guidance/${piece.id}`));
            this.conversation.guidance.set(piece.seq, changed);
        } catch (error) {
            notice(`The advice was not retracted: ${/** @type {Error} */ (error).message}`);
            if (error instanceof ApiError && error.piece)
                this.conversation.guidance.set(piece.seq, error.piece);
        }
        this.refresh();
    }

    close() {
        this.isClosed = true;
        this.draft.close();
    }
}
