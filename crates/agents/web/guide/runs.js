// The screen of all runs.

import { el, fill } from "./dom.js";
import { concerns, linkTo, stateText } from "./list.js";

/** @typedef {import("./types").Headline} Headline */

const COLUMNS = ["Task", "Agent", "State", "Turns", "Last turn", "Last told", "Advice", "Needs a look"];

/**
 * @param {import("./list.js").Headlines} headlines
 * @returns {import("./types").Screen}
 */
export function runs(headlines) {
    const filter = el("input", {
        type: "search",
        placeholder: "task, agent or name",
        "aria-label": "Filter",
    });
    const body = el("tbody", {});
    const empty = el("p", { class: "faint", hidden: true });
    const table = el(
        "table",
        { class: "runs" },
        el("caption", { class: "unseen" }, "Runs"),
        el("thead", {}, el("tr", {}, ...COLUMNS.map((name) => el("th", { scope: "col" }, name)))),
        body,
    );
    const root = el(
        "div",
        { class: "screen plain" },
        el("h1", {}, "Guided runs"),
        el("p", { class: "tools" }, el("label", {}, "Filter ", filter)),
        table,
        empty,
    );

    /** @param {Headline} headline */
    const row = (headline) => {
        const why = concerns(headline);
        /** @param {number} column @param {...import("./dom.js").Child} children */
        const cell = (column, ...children) => el("td", { "data-label": COLUMNS[column] }, ...children);
        return el(
            "tr",
            {},
            el("th", { scope: "row" }, el("a", { href: linkTo(headline.id) }, el("bdi", {}, headline.task))),
            cell(1, el("bdi", {}, headline.agent), headline.attempt > 0 && ` #${headline.attempt}`),
            cell(
                2,
                el("span", { class: `state ${headline.state}` }, stateText(headline.state)),
                headline.held_by && el("small", {}, " by ", el("bdi", {}, headline.held_by)),
                headline.ending && el("small", {}, ` (${headline.ending})`),
            ),
            cell(3, `${headline.turns} of ${headline.budget}`),
            cell(4, el("bdi", {}, headline.last ?? "none")),
            cell(5, el("bdi", {}, headline.told ?? "nothing")),
            cell(
                6,
                headline.guidance === 0 ? "none" : `${headline.guidance}`,
                headline.queued > 0 && `, ${headline.queued} waiting`,
            ),
            cell(7, why.length ? el("span", { class: "look" }, why.join("; ")) : "no"),
        );
    };

    const draw = () => {
        const inside = body.contains(document.activeElement);
        const hash = document.activeElement instanceof HTMLAnchorElement ? document.activeElement.hash : "";
        const wanted = filter.value.toLowerCase();
        const all = headlines.sorted();
        const found = all.filter((headline) =>
            `${headline.task} ${headline.agent} ${headline.id}`.toLowerCase().includes(wanted),
        );
        fill(body, ...found.map(row));
        table.hidden = found.length === 0;
        empty.hidden = found.length > 0;
        empty.textContent = all.length
            ? "No run has this text."
            : "No agent has opened a conversation yet. An agent is guided with `agents run … --guide " +
              location.origin +
              "`.";
        if (inside) for (const link of body.querySelectorAll("a")) if (link.hash === hash) link.focus();
    };
    filter.addEventListener("input", draw);
    draw();

    /** @param {(index: number, last: number) => number} to */
    const move = (to) => {
        const links = [...body.querySelectorAll("a")];
        const index = links.findIndex((link) => link === document.activeElement);
        links[Math.max(0, Math.min(links.length - 1, to(index, links.length - 1)))]?.focus();
    };
    /** @param {1 | -1} way */
    const look = (way) => {
        const id = headlines.needing(null, way);
        if (id) location.hash = linkTo(id);
    };
    let isWaiting = false;
    return {
        root,
        title: "Guided runs",
        watch: null,
        from: () => 0,
        headline() {
            // Many come at once when the stream opens.
            if (isWaiting) return;
            isWaiting = true;
            setTimeout(() => {
                isWaiting = false;
                draw();
            }, 50);
        },
        actions: {
            next: () => move((index) => index + 1),
            previous: () => move((index) => index - 1),
            first: () => move(() => 0),
            last: () => move((_, last) => last),
            search: () => filter.focus(),
            "run-next": () => look(1),
            "run-previous": () => look(-1),
        },
    };
}
