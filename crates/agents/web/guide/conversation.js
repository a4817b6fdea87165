// The state of a conversation: a snapshot of the server, or nothing, and the events after it.

/** @typedef {import("./types").Piece} Piece */
/** @typedef {import("./types").Turn} Turn */
/** @typedef {import("./types").Verdict} Verdict */

export class Conversation {
    /** @param {string} id */
    constructor(id) {
        this.id = id;
        this.task = "";
        this.agent = "";
        this.attempt = 0;
        this.budget = 0;
        this.seq = 0;
        /** Turns that there are; not all need be in `turns`. */
        this.count = 0;
        /** @type {Map<number, Turn>} */
        this.turns = new Map();
        /** @type {Map<number, Piece>} */
        this.guidance = new Map();
        /** @type {Map<number, number[]>} */
        this.heard = new Map();
        /** @type {import("./types").Mark[]} */
        this.marks = [];
        /** @type {Map<string, Verdict>} */
        this.verdicts = new Map();
        /** @type {string | null} */
        this.heldBy = null;
        this.isLost = false;
        /** @type {import("./types").End | null} */
        this.end = null;
    }

    /** @param {import("./types").Snapshot} snapshot */
    static of({ headline, opening, turns, guidance, heard, marks, verdicts, end }) {
        const made = new Conversation(headline.id);
        made.open(opening);
        made.seq = headline.seq;
        made.count = headline.turns;
        made.isLost = headline.state === "lost";
        made.heldBy = headline.held_by;
        made.end = end;
        made.marks = marks;
        made.take(turns);
        for (const piece of guidance) made.guidance.set(piece.seq, piece);
        for (const [turn, pieces] of Object.entries(heard)) made.heard.set(Number(turn), pieces);
        for (const verdict of verdicts) made.judge(verdict);
        return made;
    }

    /** @param {import("./types").Opening} opening */
    open({ task, agent, attempt, turns }) {
        Object.assign(this, { task, agent, attempt, budget: turns });
    }

    /**
     * Turns of a page. They never change.
     * @param {Turn[]} turns
     */
    take(turns) {
        for (const turn of turns) this.turns.set(turn.turn, turn);
    }

    /** @returns {import("./types").RunState} */
    get state() {
        if (this.end) return "ended";
        if (this.isLost) return "lost";
        if (this.heldBy) return "holding";
        return this.count === 0 ? "open" : "working";
    }

    /** @param {Verdict} verdict */
    judge(verdict) {
        this.verdicts.set(`${verdict.turn} ${verdict.part ?? "turn"} ${verdict.by}`, verdict);
    }

    /**
     * The verdicts of all people on a turn as a whole, the latest last. What was taken back is none.
     * @param {number} turn
     */
    verdictsOn(turn) {
        const all = [...this.verdicts.values()].filter((verdict) => verdict.turn === turn);
        const whole = all.filter((verdict) => (verdict.part ?? "turn") === "turn");
        return whole.sort((one, other) => one.seq - other.seq);
    }

    /**
     * The verdict that counts on a turn.
     * @param {number} turn
     * @returns {Verdict | null}
     */
    verdict(turn) {
        const latest = this.verdictsOn(turn).at(-1);
        return latest && latest.verdict !== "undecided" ? latest : null;
    }

    /**
     * Pieces that the agent had read when it took a turn, and not before.
     * @param {number} turn
     */
    heardBefore(turn) {
        const pieces = (this.heard.get(turn) ?? []).map((seq) => this.guidance.get(seq));
        return pieces.filter((piece) => piece !== undefined);
    }

    /**
     * The turn before which a piece was read.
     * @param {Piece} piece
     */
    readBefore(piece) {
        for (const [turn, pieces] of this.heard) if (pieces.includes(piece.seq)) return turn;
        return null;
    }

    /** @param {string} id */
    find(id) {
        return [...this.guidance.values()].find((piece) => piece.id === id);
    }

    /**
     * Takes up an event.
     * @param {import("./types").Line} line
     */
    apply({ seq, at, by = "", event }) {
        this.seq = seq;
        /** @param {string[]} ids @param {Piece["state"]} state */
        const change = (ids, state) => {
            for (const piece of this.guidance.values()) if (ids.includes(piece.id)) piece.state = state;
        };
        switch (event.kind) {
            case "opened":
                this.open(/** @type {any} */ (event));
                break;
            case "turn":
                this.turns.set(event.turn, /** @type {any} */ (event));
                this.count = event.turn + 1;
                this.isLost = false;
                break;
            case "guidance":
                this.guidance.set(seq, { id: event.id, seq, by, at, what: event.what, state: "queued" });
                break;
            case "edited": {
                const piece = this.find(event.id);
                if (piece) piece.what = event.what;
                break;
            }
            case "retracted":
                change([event.id], "retracted");
                break;
            case "sent":
                change(event.ids, "sent");
                break;
            case "acknowledged":
                for (const piece of this.guidance.values()) {
                    if (piece.seq > event.have || piece.state !== "sent") continue;
                    piece.state = "acknowledged";
                    this.heard.set(this.count, [...(this.heard.get(this.count) ?? []), piece.seq]);
                }
                break;
            case "late":
                change(event.ids, "late");
                break;
            case "held":
                this.heldBy = by;
                break;
            case "released":
                this.heldBy = null;
                break;
            case "mark":
                this.marks.push({ by, turn: event.turn, note: event.note });
                break;
            case "verdict":
                this.judge({ .../** @type {any} */ (event), by, seq });
                break;
            case "lost":
                this.isLost = true;
                break;
            case "resumed":
                this.isLost = false;
                break;
            case "closed":
                this.end = /** @type {any} */ (event);
                this.heldBy = null;
                this.isLost = false;
                break;
        }
    }
}
