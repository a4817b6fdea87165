// What is known of all runs, and the short list of them beside a run.

import { el, fill } from "./dom.js";

/** @typedef {import("./types").Headline} Headline */

/** @type {Record<import("./types").Concern | "lost", string>} */
const CONCERNS = {
    failures: "three failures in a row",
    repeats: "the same script twice",
    nearly_over: "four fifths of its turns are used",
    lost: "nothing was heard of the agent for long",
};

/** @type {Record<import("./types").RunState, string>} */
const STATES = {
    open: "has not begun",
    working: "at work",
    holding: "on hold",
    lost: "lost",
    ended: "ended",
};

/**
 * Why a run needs a look, in words.
 * @param {Headline} headline
 */
export function concerns(headline) {
    const all = headline.concerns.map((concern) => CONCERNS[concern] ?? concern);
    return headline.state === "lost" ? [CONCERNS.lost, ...all] : all;
}

/** @param {import("./types").RunState} state */
export function stateText(state) {
    return STATES[state];
}

/** @param {string} id */
export function linkTo(id) {
    return `#/run/${encodeURIComponent(id)}`;
}

/** The headlines of all runs. */
export class Headlines {
    constructor() {
        /** @type {Map<string, Headline>} */
        this.all = new Map();
    }

    /** Running ones first, then the newest. */
    sorted() {
        const rank = (/** @type {Headline} */ headline) => (headline.state === "ended" ? 1 : 0);
        return [...this.all.values()].sort(
            (one, other) =>
                rank(one) - rank(other) || other.opened_at - one.opened_at || (one.id < other.id ? -1 : 1),
        );
    }

    /**
     * The run that needs a look after another one, or before it.
     * @param {string | null} id
     * @param {1 | -1} way
     */
    needing(id, way) {
        const sorted = this.sorted();
        const start = sorted.findIndex((headline) => headline.id === id);
        for (let step = 1; step <= sorted.length; step++) {
            const index = start < 0 && way < 0 ? -step : start + way * step;
            const found = sorted[((index % sorted.length) + sorted.length) % sorted.length];
            if (found.id !== id && concerns(found).length) return found.id;
        }
        return null;
    }
}

/** The short list beside a run. */
export class RunList {
    /**
     * @param {Headlines} headlines
     * @param {string} current
     */
    constructor(headlines, current) {
        this.headlines = headlines;
        this.current = current;
        this.items = el("ul", {});
        this.root = el("nav", { class: "list", "aria-label": "Runs" }, this.items);
        this.refresh();
    }

    refresh() {
        const focused =
            document.activeElement instanceof HTMLAnchorElement ? document.activeElement.hash : null;
        const inside = this.items.contains(document.activeElement);
        fill(
            this.items,
            ...this.headlines
                .sorted()
                .slice(0, 200)
                .map((headline) => this.item(headline)),
        );
        if (inside && focused) {
            for (const link of this.items.querySelectorAll("a")) if (link.hash === focused) link.focus();
        }
    }

    /** @param {Headline} headline */
    item(headline) {
        const why = concerns(headline);
        const isCurrent = headline.id === this.current;
        return el(
            "li",
            {},
            el(
                "a",
                { href: linkTo(headline.id), "aria-current": isCurrent && "page", title: headline.agent },
                el("bdi", { class: "task" }, headline.task),
                el(
                    "small",
                    {},
                    `${stateText(headline.state)}, ${headline.turns} of ${headline.budget}`,
                    headline.queued > 0 && `, ${headline.queued} waiting`,
                ),
                why.length > 0 && el("small", { class: "look", title: why.join("; ") }, "needs a look"),
            ),
        );
    }
}
