// The screen on which turns are judged, one at a time.

import { button, counted, el, fill, notice } from "./dom.js";
import { context } from "./context.js";
import { linkTo } from "./list.js";
import { ProposalList, item } from "./proposals.js";
import { load, mark, sourceOf } from "./run.js";
import { judge, outcome, refresh, step, tool } from "./step.js";

/** Turns in an answer of the server. */
const PAGE = 200;

/**
 * @param {string} id
 * @param {import("./types").Me} me
 * @param {() => void} reopen opens the screen anew
 * @returns {Promise<import("./types").Screen>}
 */
export async function review(id, me, reopen) {
    const { conversation } = await load(id);
    const source = sourceOf(conversation);
    const proposals = new ProposalList(id);
    let current = 0;
    /** @type {HTMLElement | null} */
    let shown = null;

    const progress = el("progress", { "aria-label": "Turns that are judged" });
    const judged = el("span", {});
    const place = el("h2", {});
    const around = el("p", { class: "faint around" });
    const turnPlace = el("div", {});
    const opinions = el("ul", { class: "opinions", "aria-label": "Verdicts on this turn" });
    const proposed = el("ul", { class: "opinions", "aria-label": "Proposals for this turn" });
    const differ = el("ul", { class: "differ" });
    const undecided = el("ul", { class: "differ" });
    const reason = el("input", {
        type: "text",
        maxlength: 2000,
        "aria-label": "Reason",
        placeholder: "Reason (optional)",
    });
    reason.addEventListener("keydown", (event) => {
        if (event.key === "Enter") reason.blur();
    });

    /** @param {number} turn @param {string | null} word */
    const opinionOf = (turn, word) =>
        conversation.verdictsOn(turn).filter((one) => word === null || one.verdict === word);
    const disagreements = () => {
        const found = [];
        for (let turn = 0; turn < conversation.count; turn++) {
            if (opinionOf(turn, "keep").length && opinionOf(turn, "drop").length) found.push(turn);
        }
        return found;
    };

    function drawProgress() {
        let done = 0;
        let mine = 0;
        for (let turn = 0; turn < conversation.count; turn++) {
            const said = conversation.verdictsOn(turn).filter((one) => one.verdict !== "undecided");
            if (said.length) done++;
            if (said.some((one) => one.by === me.name)) mine++;
        }
        progress.max = Math.max(1, conversation.count);
        progress.value = done;
        judged.textContent = `${done} of ${counted(conversation.count, "turn")} judged, ${mine} by you`;
        const all = disagreements();
        list(differ, all);
        differTitle.textContent = all.length
            ? `People differ on ${counted(all.length, "turn")}`
            : "Nobody differs.";
        const left = proposals.with("undecided").filter((turn) => !conversation.verdict(turn));
        list(undecided, left);
        undecidedTitle.hidden = left.length === 0;
        undecidedTitle.textContent = `The judge left ${counted(left.length, "turn")} to people`;
    }
    const differTitle = el("h3", {});
    const undecidedTitle = el("h3", {});

    /** @param {HTMLElement} place @param {number[]} turns */
    function list(place, turns) {
        const entry = (/** @type {number} */ turn) =>
            el("li", {}, el("button", { type: "button", onclick: () => show(turn) }, `Turn ${turn}`));
        fill(place, ...turns.map(entry));
        place.hidden = turns.length === 0;
    }

    function drawProposals() {
        const all = proposals.on(current);
        const none = proposals.blind.has(current)
            ? "This turn is judged blind: what rules and judge say of it is shown to nobody, so that people can be compared with them."
            : "Neither a rule nor a judge says anything of this turn.";
        fill(proposed, ...all.map(item), all.length === 0 && el("li", { class: "faint" }, none));
    }

    /** Whether an answer is on its way. */
    let isAsking = false;
    /** Proposals, which grow with the run and with what a judge says. */
    async function ask() {
        if (isAsking) return;
        isAsking = true;
        try {
            await proposals.load();
            drawProposals();
            drawProgress();
        } catch (error) {
            notice(`No proposals: ${/** @type {Error} */ (error).message}`);
        } finally {
            isAsking = false;
        }
    }

    function drawOpinions() {
        const all = conversation.verdictsOn(current);
        fill(
            opinions,
            ...all.map((one) =>
                el(
                    "li",
                    {},
                    el("strong", { class: `verdict ${one.verdict}` }, one.verdict),
                    " by ",
                    el("bdi", {}, one.by),
                    one.reason ? ": " : "",
                    el("span", { class: "text" }, one.reason ?? ""),
                ),
            ),
            all.length === 0 && el("li", { class: "faint" }, "Nobody has judged this turn."),
        );
    }

    /** @param {number} turn */
    async function show(turn) {
        if (conversation.count === 0) {
            fill(turnPlace, el("p", { class: "faint" }, "The agent has not taken a turn yet."));
            return;
        }
        current = Math.max(0, Math.min(turn, conversation.count - 1));
        const wanted = current;
        for (const near of [wanted - 1, wanted, wanted + 1]) {
            if (near < 0 || near >= conversation.count || source.has(near)) continue;
            const from = Math.floor(near / PAGE) * PAGE;
            try {
                await source.load(from, from + PAGE);
            } catch (error) {
                fill(turnPlace, el("p", { class: "bad" }, /** @type {Error} */ (error).message));
                return;
            }
        }
        if (wanted !== current) return;
        place.textContent = `Turn ${current} of ${conversation.count}`;
        const words = [current - 1, current + 1].map((near) => {
            const found = conversation.turns.get(near);
            return found ? `turn ${near}: ${tool(found)} ${outcome(found).text}` : null;
        });
        around.textContent = [words[0] && `Before it, ${words[0]}.`, words[1] && `After it, ${words[1]}.`]
            .filter(Boolean)
            .join(" ");
        shown = step(
            conversation,
            /** @type {import("./types").Turn} */ (conversation.turns.get(current)),
            true,
        );
        shown.classList.add("current");
        fill(turnPlace, shown);
        reason.value = conversation.verdictsOn(current).find((one) => one.by === me.name)?.reason ?? "";
        drawOpinions();
        if (current < proposals.turns) drawProposals();
        else await ask();
    }

    /** @param {import("./types").VerdictWord} word */
    const decide = (word) => () => {
        if (conversation.count > 0 && me.advises) judge(conversation, current, word, reason.value.trim());
    };
    /** @param {(turn: number) => boolean} is shows the next turn that nobody has judged and that is so */
    const open = (is) => () => {
        for (let offset = 1; offset <= conversation.count; offset++) {
            const turn = (current + offset) % conversation.count;
            if (!conversation.verdict(turn) && is(turn)) {
                show(turn);
                return;
            }
        }
        notice("There is no such turn left.", "good");
    };
    const actions = {
        next: () => void show(current + 1),
        previous: () => void show(current - 1),
        first: () => void show(0),
        last: () => void show(conversation.count - 1),
        context: () => void context(id, current),
        ...(me.advises && {
            input: () => reason.focus(),
            mark: () => mark(conversation, current),
            drop: decide("drop"),
            keep: decide("keep"),
            undecided: decide("undecided"),
        }),
    };
    const root = el(
        "div",
        { class: "screen plain review" },
        el(
            "h1",
            {},
            "Review of ",
            el("bdi", {}, conversation.task),
            " ",
            el("small", {}, el("a", { href: linkTo(id) }, "the run")),
        ),
        el("p", {}, progress, " ", judged),
        el(
            "div",
            { class: "turn-tools", role: "toolbar", "aria-label": "Turns" },
            button("Next", "j", actions.next),
            button("Previous", "k", actions.previous),
            button("First", "g", actions.first),
            button("Last", "G", actions.last),
            button(
                "Next without a verdict",
                null,
                open(() => true),
            ),
            button(
                "Next proposed to drop",
                null,
                open((turn) => proposals.on(turn).some((one) => one.verdict === "drop")),
            ),
            button("Context", "c", actions.context),
            me.advises && button("Mark", "m", () => actions.mark?.()),
        ),
        place,
        around,
        turnPlace,
        me.advises &&
            el(
                "div",
                { class: "judge", role: "group", "aria-label": "Your verdict" },
                el("label", {}, "Reason", el("kbd", { "aria-hidden": "true" }, "i"), reason),
                button("Drop", "x", decide("drop")),
                button("Keep", "v", decide("keep")),
                button("Undecided", "u", decide("undecided")),
            ),
        proposed,
        opinions,
        differTitle,
        differ,
        undecidedTitle,
        undecided,
        el(
            "p",
            { class: "note" },
            "Drop what should not be imitated: the turn stays in the record and in the context of later turns. The latest verdict of a person counts; all are kept. Where no person has judged, a rule's drop counts, else what the judge says.",
        ),
    );
    drawProgress();
    queueMicrotask(() => show(0));

    return {
        root,
        title: `Review: ${conversation.task}`,
        actions,
        watch: id,
        from: () => conversation.seq,
        change(line) {
            if (line.seq <= conversation.seq) {
                reopen();
                return;
            }
            conversation.apply(line);
            const { kind, turn } = line.event;
            if (kind === "turn") {
                drawProgress();
                if (conversation.count === 1) show(0);
                else place.textContent = `Turn ${current} of ${conversation.count}`;
            }
            if (kind !== "verdict" && kind !== "mark") return;
            drawProgress();
            if (turn === current && shown) {
                refresh(shown, conversation, current);
                drawOpinions();
            }
        },
    };
}
