// What rules and a judge say of the turns of a run, for the people who review it.

import { at, call } from "./api.js";
import { el } from "./dom.js";

/** @typedef {import("./types").Proposal} Proposal */

export class ProposalList {
    /** @param {string} id of the conversation */
    constructor(id) {
        this.id = id;
        /** Turns that were looked at: those below. */
        this.turns = 0;
        /** @type {Set<number>} */
        this.blind = new Set();
        /** @type {Map<number, Proposal[]>} */
        this.all = new Map();
    }

    /** Asks the server anew. */
    async load() {
        const found = /** @type {import("./types").Proposals} */ (
            await call("GET", at(this.id, "/proposals"))
        );
        this.turns = found.turns;
        this.blind = new Set(found.blind);
        this.all.clear();
        for (const one of found.proposals) this.all.set(one.turn, [...this.on(one.turn), one]);
    }

    /**
     * What is proposed on a turn.
     * @param {number} turn
     */
    on(turn) {
        return this.all.get(turn) ?? [];
    }

    /**
     * Turns on which somebody proposes a verdict, in order.
     * @param {import("./types").VerdictWord} word
     */
    with(word) {
        const found = [...this.all].filter(([, all]) => all.some((one) => one.verdict === word));
        return found.map(([turn]) => turn).sort((one, other) => one - other);
    }
}

/**
 * A proposal as an item of a list.
 * @param {Proposal} proposal
 */
export function item({ verdict, by, reason }) {
    const [kind, name] = "rule" in by ? ["the rule", by.rule] : ["the judge", by.judge];
    return el(
        "li",
        {},
        el("strong", { class: `verdict ${verdict}` }, verdict),
        ` proposed by ${kind} `,
        el("bdi", {}, name),
        reason ? ": " : "",
        el("span", { class: "text" }, reason),
    );
}
