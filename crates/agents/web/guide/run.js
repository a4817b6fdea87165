// The screen of one run: the list of runs, its turns, what stands beside them, and where advice is
// written.

import { ApiError, at, call } from "./api.js";
import { Compose } from "./compose.js";
import { context } from "./context.js";
import { Conversation } from "./conversation.js";
import { announce, button, counted, el, fill, notice } from "./dom.js";
import { dialog } from "./keys.js";
import { RunList, concerns, linkTo, stateText } from "./list.js";
import { Panes } from "./panes.js";
import { Search } from "./search.js";
import { judge, outcome, refresh, step, tool } from "./step.js";
import { Steps } from "./steps.js";

/** A turn that no run has: the answer to it has no turns, and says how many there are. */
const BEYOND = 4_000_000_000;

/**
 * Where the turns of a conversation come from.
 * @param {Conversation} conversation
 * @returns {import("./steps.js").Source}
 */
export function sourceOf(conversation) {
    return {
        count: () => conversation.count,
        has: (turn) => conversation.turns.has(turn),
        load: async (from, to) => {
            const page = await call("GET", at(conversation.id, `?from=${from}&to=${to}`));
            conversation.take(page.turns);
        },
        draw: (turn) =>
            step(conversation, /** @type {import("./types").Turn} */ (conversation.turns.get(turn))),
        refresh: (made, turn) => refresh(made, conversation, turn),
    };
}

/**
 * A conversation as it is now, without its turns.
 * @param {string} id
 */
export async function load(id) {
    const snapshot = /** @type {import("./types").Snapshot} */ (await call("GET", at(id, `?from=${BEYOND}`)));
    return { conversation: Conversation.of(snapshot), draft: snapshot.draft };
}

/**
 * Asks for a note and marks a turn with it.
 * @param {Conversation} conversation
 * @param {number} turn
 */
export function mark(conversation, turn) {
    const note = el("textarea", { rows: 3, "aria-label": "Note" });
    const keep = async () => {
        try {
            await call("POST", at(conversation.id, "/marks"), { turn, note: note.value });
            shown.close();
        } catch (error) {
            notice(`The mark was not kept: ${/** @type {Error} */ (error).message}`);
        }
    };
    note.addEventListener("keydown", (event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) keep();
    });
    const shown = dialog(
        `Mark turn ${turn}`,
        el("p", { class: "faint" }, "For people: the agent does not read it."),
        note,
        el("p", {}, button("Keep", "Ctrl+Enter", keep, { class: "primary" })),
    );
    note.focus();
}

/**
 * @param {string} id
 * @param {import("./types").Me} me
 * @param {import("./list.js").Headlines} headlines
 * @param {() => void} reopen opens the screen anew
 * @returns {Promise<import("./types").Screen>}
 */
export async function run(id, me, headlines, reopen) {
    const { conversation, draft } = await load(id);
    const list = new RunList(headlines, id);
    const compose = new Compose(conversation, me, draft);
    const steps = new Steps(sourceOf(conversation), () => moved());
    const search = new Search(
        id,
        (turn) => steps.choose(turn, true),
        () => steps.current,
    );
    const panes = new Panes(conversation, () => steps.choose(steps.current, true));
    let heardAt = performance.now();

    const state = el("span", { class: "state" });
    const since = el("span", { class: "faint" });
    const look = el("span", { class: "look" });
    const holder = button("Hold", "h", () => hold());
    const unseen = button("", "G", () => steps.choose(conversation.count - 1, true), { class: "news" });
    const unseenText = el("span", {});
    unseen.prepend(unseenText);
    const current = el("span", { class: "faint" });
    /** @param {() => void} does */
    const onTurn = (does) => () => steps.current >= 0 && does();
    /** @param {import("./types").VerdictWord} verdict */
    const verdict = (verdict) => onTurn(() => judge(conversation, steps.current, verdict, ""));
    const actions = {
        next: () => steps.choose(steps.current + 1, true),
        previous: () => steps.choose(steps.current - 1, true),
        first: () => steps.choose(0, true),
        last: () => steps.choose(conversation.count - 1, true),
        search: () => search.field.focus(),
        "found-next": () => search.move(1),
        "found-previous": () => search.move(-1),
        "run-next": () => go(1),
        "run-previous": () => go(-1),
        context: onTurn(() => context(id, steps.current)),
        files: () => panes.show("files"),
        output: () => panes.show("output"),
        ...(me.advises && {
            input: () => compose.field.focus(),
            advise: onTurn(() => compose.setAbout(steps.current)),
            mark: onTurn(() => mark(conversation, steps.current)),
            drop: verdict("drop"),
            keep: verdict("keep"),
            undecided: verdict("undecided"),
            hold: () => hold(),
        }),
    };
    const tools = el(
        "div",
        { class: "turn-tools", role: "toolbar", "aria-label": "This turn" },
        button("Next", "j", actions.next),
        button("Previous", "k", actions.previous),
        button("First", "g", actions.first),
        button("Last", "G", actions.last),
        current,
        button("Context", "c", actions.context),
        ...(me.advises
            ? [
                  button("Advise", "a", () => actions.advise?.()),
                  button("Drop", "x", () => actions.drop?.()),
                  button("Keep", "v", () => actions.keep?.()),
                  button("Undecided", "u", () => actions.undecided?.()),
                  button("Mark", "m", () => actions.mark?.()),
              ]
            : []),
    );
    const views = el(
        "span",
        { class: "views" },
        el("a", { href: `${linkTo(id)}/review` }, "Review"),
        " ",
        el("a", { href: `${linkTo(id)}/replay` }, "Replay"),
    );
    const root = el(
        "div",
        { class: "screen run" },
        el(
            "aside",
            { class: "side" },
            el(
                "div",
                { class: "look-tools", role: "group", "aria-label": "Runs that need a look" },
                el("small", {}, "Runs that need a look"),
                button("Next", "]", () => go(1), { "aria-label": "Next run that needs a look" }),
                button("Previous", "[", () => go(-1), { "aria-label": "Previous run that needs a look" }),
            ),
            list.root,
        ),
        el(
            "section",
            { class: "middle", "aria-label": "Turns" },
            el(
                "header",
                { class: "head" },
                el(
                    "h1",
                    {},
                    el("bdi", {}, conversation.task),
                    " ",
                    el("small", {}, el("bdi", {}, conversation.agent)),
                ),
                el("div", { class: "facts-line" }, state, since, look, me.advises && holder, views),
                el(
                    "div",
                    { class: "narrow" },
                    button("Submission", "f", actions.files),
                    button("Output", "t", actions.output),
                    button("Next to look at", "]", () => go(1)),
                ),
                search.root,
            ),
            steps.root,
            unseen,
            tools,
        ),
        panes.root,
        me.advises
            ? compose.root
            : el(
                  "section",
                  { class: "compose" },
                  el(
                      "p",
                      { class: "faint" },
                      me.replays
                          ? "This run is told again. Nobody can change anything."
                          : "You may look. To advise, the role annotator is needed.",
                  ),
                  compose.pieces,
              ),
    );

    /** @param {1 | -1} way */
    function go(way) {
        const next = headlines.needing(id, way);
        if (next) location.hash = linkTo(next);
        else notice("No other run needs a look.", "good");
    }

    function moved() {
        const news = steps.unseen;
        unseen.hidden = news === 0;
        unseenText.textContent = `You have not seen ${counted(news, "turn")} `;
        current.textContent = steps.current < 0 ? "" : `turn ${steps.current}`;
        if (search.sought) search.highlight();
    }

    function drawState() {
        const at = conversation.state;
        state.className = `state ${at}`;
        const end = conversation.end;
        const result =
            end && (end.grade ? `, score ${end.grade.score}` : end.refusal ? `, ${end.refusal}` : "");
        fill(
            state,
            stateText(at),
            conversation.heldBy && " by ",
            conversation.heldBy && el("bdi", {}, conversation.heldBy),
            end && ` (${end.ending}${result})`,
            `, ${conversation.count} of ${conversation.budget} turns`,
        );
        holder.hidden = at === "ended";
        holder.firstChild?.replaceWith(conversation.heldBy ? "Release" : "Hold");
        const headline = headlines.all.get(id);
        look.textContent = headline ? concerns(headline).join("; ") : "";
    }

    function tick() {
        const seconds = Math.floor((performance.now() - heardAt) / 1000);
        const isOn = conversation.state === "working" || conversation.state === "open";
        since.textContent = isOn && seconds >= 2 ? `no news for ${seconds} s` : "";
    }
    const clock = setInterval(tick, 1000);

    async function hold() {
        try {
            await call(conversation.heldBy ? "DELETE" : "POST", at(id, "/hold"));
        } catch (error) {
            notice(`Not done: ${/** @type {Error} */ (error).message}`);
        }
    }

    steps.grow();
    drawState();
    const ready = async () => {
        if (conversation.count === 0) return;
        await steps.choose(conversation.count - 1, true);
        steps.seen = conversation.count - 1;
        moved();
        panes.refresh();
    };
    queueMicrotask(() => ready());

    return {
        root,
        title: conversation.task,
        actions,
        watch: id,
        from: () => conversation.seq,
        staysOpen: () => conversation.heldBy === me.name,
        headline(headline) {
            list.refresh();
            if (headline.id === id) drawState();
        },
        change(line) {
            if (line.seq <= conversation.seq) {
                // The server has another store than before.
                reopen();
                return;
            }
            const kind = line.event.kind;
            conversation.apply(line);
            if (kind === "draft") return;
            heardAt = performance.now();
            drawState();
            tick();
            compose.refresh();
            if (kind === "turn") {
                steps.grow();
                panes.refresh();
                const turn = /** @type {any} */ (line.event);
                announce(`Turn ${turn.turn}: ${tool(turn)} ${outcome(turn).text}`);
                if (steps.current < 0) steps.choose(0, false);
            } else if (kind === "acknowledged") {
                announce("The agent has read your advice.");
                steps.refresh(conversation.count);
            } else if (kind === "late") {
                notice("The run ended before the agent could read all advice. It is kept as a comment.");
            } else if (kind === "mark" || kind === "verdict") {
                steps.refresh(line.event.turn);
            }
        },
        close() {
            clearInterval(clock);
            steps.close();
            compose.close();
        },
    };
}

/**
 * What is shown instead of a run that cannot be.
 * @param {unknown} error
 */
export function missing(error) {
    const said =
        error instanceof ApiError && error.status === 404
            ? "This server has no such run."
            : `The run cannot be shown: ${/** @type {Error} */ (error).message}.`;
    return el(
        "div",
        { class: "screen plain" },
        el("h1", {}, said),
        el("p", {}, el("a", { href: "#/" }, "All runs")),
    );
}
