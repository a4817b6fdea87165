// What a person does on the page, against the real server.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Agent } from "./agent.mjs";
import { launch, open } from "./browser.mjs";
import { Server } from "./server.mjs";

/** @type {import("playwright-core").Browser} */
let browser;
before(async () => {
    browser = await launch();
});
after(() => browser?.close());

/** Runs a test with a server and a page of its own; nothing may go wrong on the page. */
async function withPage(body, fill) {
    const server = await Server.start(fill);
    const { context, page, errors } = await open(browser);
    try {
        await body({ server, page, context });
        assert.deepEqual(errors, []);
    } finally {
        await context.close();
        await server.close();
    }
}

const field = (page) => page.getByRole("textbox", { name: "Advice for the agent" });
const pieces = (page) => page.locator(".compose .pieces");
const until = async (check, what) => {
    for (let tries = 0; tries < 100; tries++) {
        if (await check()) return;
        await new Promise((done) => setTimeout(done, 50));
    }
    assert.fail(`it did not come to be: ${what}`);
};

test("newcomer_with_a_keyboard_alone_gives_advice_and_the_agent_gets_it", () =>
    withPage(async ({ server, page }) => {
        const agent = await Agent.open(server, "first");
        await agent.step();
        await page.goto(server.url);
        await page.getByRole("link", { name: "night-shifts" }).waitFor();
        await page.keyboard.press("j");
        await page.keyboard.press("Enter");
        await page.locator(".step").first().waitFor();
        await page.keyboard.press("i");
        await page.keyboard.type("Look at products?");
        await page.keyboard.press("Control+Enter");
        await pieces(page).getByText("queued: the agent reads it before its next turn").waitFor();
        assert.equal(await field(page).inputValue(), "");
        await agent.step();
        await pieces(page).getByText("sent: the agent has not confirmed it yet").waitFor();
        assert.deepEqual(agent.heard, ["Look at products?"]);
        await agent.step();
        await pieces(page).getByText("read before turn 2").waitFor();
        await page.keyboard.press("Escape");
        await page.keyboard.press("G");
        await page.locator("#turn-2 .heard").getByText("Look at products?").waitFor();
    }));

test("keys_in_a_text_field_are_text_and_nothing_else", () =>
    withPage(async ({ server, page }) => {
        const agent = await Agent.open(server, "typing");
        await agent.step();
        await page.goto(`${server.url}/#/run/typing`);
        await page.locator(".step").first().waitFor();
        await page.keyboard.press("i");
        const all = "jkgG/nN[]iahcftxvum?";
        await page.keyboard.type(all);
        assert.equal(await field(page).inputValue(), all);
        assert.equal(await page.locator("dialog").count(), 0);
        const { body } = await server.call("GET", "/conversations/typing");
        assert.deepEqual(
            [body.verdicts, body.marks, body.guidance, body.headline.held_by],
            [[], [], [], null],
        );
        // The same keys outside of it do what the list of keys says.
        await page.keyboard.press("Escape");
        await page.keyboard.press("?");
        await page.getByRole("dialog").getByText("next run that needs a look").waitFor();
        await page.keyboard.press("Escape");
        await page.keyboard.press("x");
        await page.locator("#turn-0 .verdict.drop").waitFor();
    }));

test("every_key_is_shown_beside_a_button_or_a_field", () =>
    withPage(async ({ server, page }) => {
        const agent = await Agent.open(server, "shown");
        await agent.step();
        await page.goto(`${server.url}/#/run/shown`);
        await page.locator(".step").first().waitFor();
        const shown = await page.locator("kbd:visible").allTextContents();
        for (const key of [
            "j",
            "k",
            "g",
            "G",
            "/",
            "n",
            "N",
            "[",
            "]",
            "i",
            "Ctrl+Enter",
            "Esc",
            "a",
            "x",
            "v",
            "u",
            "c",
            "f",
            "t",
            "h",
            "m",
            "?",
        ]) {
            assert.ok(shown.includes(key), `${key} is not shown`);
        }
    }));

test("advice_about_a_turn_is_edited_and_retracted_while_it_waits", () =>
    withPage(async ({ server, page }) => {
        const agent = await Agent.open(server, "edit");
        await agent.step();
        await agent.step();
        await page.goto(`${server.url}/#/run/edit`);
        await page.locator("#turn-1").waitFor();
        await page.keyboard.press("k");
        await page.keyboard.press("a");
        await page.keyboard.type("Check the import");
        await page.getByLabel("the agent should not learn from this turn").check();
        await page.getByRole("button", { name: "Send" }).click();
        await pieces(page).getByText("queued").waitFor();
        await pieces(page).getByRole("button", { name: "Edit" }).click();
        await page.getByRole("textbox", { name: "Change the advice" }).fill("Check every import");
        await page.keyboard.press("Control+Enter");
        await pieces(page).getByText("Check every import").waitFor();
        const { body } = await server.call("GET", "/conversations/edit");
        assert.deepEqual(body.guidance[0].what, {
            text: "Check every import",
            about: 0,
            drop: { from: 0, to: 0 },
        });
        await pieces(page).getByRole("button", { name: "Retract" }).click();
        await pieces(page).getByText("retracted").waitFor();
        await agent.step();
        assert.deepEqual(agent.heard, []);
    }));

test("change_that_comes_too_late_is_not_made_and_its_text_is_kept", () =>
    withPage(async ({ server, page }) => {
        const agent = await Agent.open(server, "late-edit");
        await agent.step();
        await page.goto(`${server.url}/#/run/late-edit`);
        await field(page).fill("First");
        await page.getByRole("button", { name: "Send" }).click();
        await pieces(page).getByRole("button", { name: "Edit" }).click();
        await page.getByRole("textbox", { name: "Change the advice" }).fill("Second");
        await agent.step();
        await page.getByText("the change was not made").waitFor();
        assert.equal(await field(page).inputValue(), "Second");
        assert.deepEqual(agent.heard, ["First"]);
    }));

test("advice_after_the_end_is_late_and_kept", () =>
    withPage(async ({ server, page }) => {
        const agent = await Agent.open(server, "over");
        await agent.step();
        await page.goto(`${server.url}/#/run/over`);
        await field(page).fill("Too late");
        await agent.close();
        await page.getByText("ended (answered").first().waitFor();
        await page.getByRole("button", { name: "Send" }).click();
        await pieces(page).getByText("late: the run ended before").waitFor();
    }));

test("draft_is_there_after_a_reload_and_on_another_machine", () =>
    withPage(async ({ server, page }) => {
        const agent = await Agent.open(server, "draft");
        await agent.step();
        await page.goto(`${server.url}/#/run/draft`);
        await field(page).pressSequentially("Wait until");
        // At once: the server has not got it yet.
        await page.reload();
        await page.locator(".step").first().waitFor();
        assert.equal(await field(page).inputValue(), "Wait until");
        const saved = async () =>
            (await server.call("GET", "/conversations/draft")).body.draft === "Wait until";
        await until(saved, "the server has the draft");
        const other = await open(browser);
        await other.page.goto(`${server.url}/#/run/draft`);
        await other.page.locator(".step").first().waitFor();
        assert.equal(await field(other.page).inputValue(), "Wait until");
        await other.context.close();
    }));

test("server_that_is_killed_and_started_again_is_found_within_5_seconds_and_gets_what_was_sent", () =>
    withPage(async ({ server, page }) => {
        const agent = await Agent.open(server, "killed");
        await agent.step();
        await page.goto(`${server.url}/#/run/killed`);
        await page.locator("#stream.live").waitFor();
        await server.kill();
        await page.locator("#stream.gone").waitFor();
        await field(page).fill("Sent into the void");
        await page.getByRole("button", { name: "Send" }).click();
        await page.getByText("The server does not answer. This is sent as soon as it does.").waitFor();
        assert.equal(await field(page).inputValue(), "Sent into the void");
        const began = Date.now();
        await server.spawn();
        await page.locator("#stream.live").waitFor();
        const took = Date.now() - began;
        assert.ok(took < 5000, `it took ${took} ms`);
        await pieces(page).getByText("queued").waitFor();
        await agent.step();
        await page.locator("#turn-1").waitFor();
        assert.deepEqual(agent.heard, ["Sent into the void"]);
        const { body } = await server.call("GET", "/conversations/killed");
        assert.equal(body.guidance.length, 1);
    }));

test("run_that_is_opened_while_the_server_is_gone_is_shown_when_it_is_back", () =>
    withPage(async ({ server, page }) => {
        const agent = await Agent.open(server, "away");
        await agent.step();
        await page.goto(server.url);
        await page.getByRole("link", { name: "night-shifts" }).waitFor();
        await server.kill();
        await page.getByRole("link", { name: "night-shifts" }).click();
        await page.getByText("The run cannot be shown: the server does not answer.").waitFor();
        await server.spawn();
        await page.locator("#turn-0.current").waitFor();
    }));

test("hidden_tab_closes_its_stream_and_misses_nothing_when_it_is_back", () =>
    withPage(async ({ server, page }) => {
        const agent = await Agent.open(server, "hidden");
        await agent.step();
        await page.goto(`${server.url}/#/run/hidden`);
        await page.locator("#stream.live").waitFor();
        const hide = (isHidden) =>
            page.evaluate((hidden) => {
                Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
                document.dispatchEvent(new Event("visibilitychange"));
            }, isHidden);
        await hide(true);
        await page.locator("#stream.paused").waitFor();
        for (let turn = 0; turn < 3; turn++) await agent.step();
        assert.equal(await page.locator("#turn-3").count(), 0);
        await hide(false);
        await page.getByText("You have not seen").waitFor();
        await page.locator("#stream.live").waitFor();
        await page.getByText("4 of 20 turns").waitFor();
    }));

test("reader_is_not_moved_by_new_turns_and_is_told_of_them", () =>
    withPage(async ({ server, page }) => {
        const agent = await Agent.open(server, "reader");
        for (let turn = 0; turn < 8; turn++) await agent.step();
        await page.goto(`${server.url}/#/run/reader`);
        await page.locator("#turn-7").waitFor();
        await page.keyboard.press("g");
        const steps = page.locator(".steps");
        await until(() => steps.evaluate((box) => box.scrollTop < 20), "the first turn is in view");
        const place = await steps.evaluate((box) => box.scrollTop);
        for (let turn = 0; turn < 3; turn++) await agent.step();
        await page.getByText("You have not seen 3 turns").waitFor();
        assert.equal(await steps.evaluate((box) => box.scrollTop), place);
        await page.keyboard.press("G");
        await page.getByText("You have not seen").waitFor({ state: "hidden" });
        await page.locator("#turn-10.current").waitFor();
    }));

test("hold_has_the_agent_wait_until_it_is_released", () =>
    withPage(async ({ server, page }) => {
        const agent = await Agent.open(server, "hold");
        await agent.step();
        await page.goto(`${server.url}/#/run/hold`);
        await page.locator(".step").first().waitFor();
        await page.keyboard.press("h");
        await page.getByText("on hold by local").waitFor();
        const held = await agent.step();
        assert.equal(held.hold.by, "local");
        await page.keyboard.press("h");
        await page.getByText("at work").first().waitFor();
    }));

test("run_that_fails_three_times_needs_a_look_and_a_key_goes_there", () =>
    withPage(async ({ server, page }) => {
        const good = await Agent.open(server, "good", { task: "calm-waters" });
        await good.step();
        const bad = await Agent.open(server, "bad", { task: "rough-seas" });
        for (let turn = 0; turn < 3; turn++) await bad.step({ code: `fail(${turn})`, raised: "NameError" });
        await page.goto(`${server.url}/#/run/good`);
        await page.locator(".list .look").waitFor();
        await page.keyboard.press("]");
        await page.getByRole("heading", { name: "rough-seas" }).waitFor();
        await page.locator(".facts-line").getByText("three failures in a row").waitFor();
    }));

test("context_shows_what_the_agent_had_read_with_the_advice", () =>
    withPage(async ({ server, page }) => {
        const agent = await Agent.open(server, "context");
        await agent.step();
        await server.call("POST", "/conversations/context/guidance", {
            id: "one",
            what: { text: "Mind the units" },
        });
        for (let turn = 0; turn < 2; turn++) await agent.step();
        await page.goto(`${server.url}/#/run/context`);
        await page.locator("#turn-2").waitFor();
        await page.keyboard.press("c");
        const dialog = page.getByRole("dialog");
        await dialog.locator(".part.guide").getByText("Mind the units").waitFor();
        assert.equal(await dialog.locator(".part.prompt").count(), 2);
        assert.equal(await dialog.locator(".part.model").count(), 2);
        await page.keyboard.press("Escape");
        await dialog.waitFor({ state: "detached" });
    }));

test("search_finds_turns_on_the_server_and_keys_go_through_them", () =>
    withPage(async ({ server, page }) => {
        const agent = await Agent.open(server, "search");
        for (let turn = 0; turn < 6; turn++) await agent.step({ observation: turn % 2 ? "A Needle" : "hay" });
        await page.goto(`${server.url}/#/run/search`);
        await page.locator("#turn-5").waitFor();
        await page.keyboard.press("g");
        await page.keyboard.press("/");
        await page.keyboard.type("needle");
        await page.keyboard.press("Enter");
        await page.getByText("in 3 turns").waitFor();
        await page.locator("#turn-1.current").waitFor();
        await page.keyboard.press("n");
        await page.locator("#turn-3.current").waitFor();
        await page.keyboard.press("N");
        await page.locator("#turn-1.current").waitFor();
    }));

test("review_keeps_verdicts_with_reasons_and_lists_where_people_differ", async () => {
    const server = await Server.start((store) => void store);
    await server.kill();
    const tokens = {
        ann: server.token("ann", "annotator"),
        ben: server.token("ben", "annotator"),
        bot: server.token("bot", "agent"),
    };
    await server.spawn();
    const { context, page, errors } = await open(browser);
    try {
        const agent = await Agent.open(server, "review", { token: tokens.bot });
        for (let turn = 0; turn < 3; turn++) await agent.step();
        const ben = { authorization: `Bearer ${tokens.ben}` };
        await server.call(
            "PUT",
            "/conversations/review/verdicts/1",
            { verdict: "keep", reason: "it waits" },
            ben,
        );
        // Without a token there is the form, and a wrong token is refused.
        await page.goto(`${server.url}/#/run/review/review`);
        await page.getByLabel("Name").fill("ann");
        await page.getByLabel("Token").fill(tokens.ben);
        await page.getByRole("button", { name: "Sign in" }).click();
        await page.getByText("the name or the token is wrong").waitFor();
        await page.getByLabel("Token").fill(tokens.ann);
        await page.keyboard.press("Enter");
        await page.getByText("1 of 3 turns judged, 0 by you").waitFor();
        await page.keyboard.press("j");
        await page.getByText("it waits").waitFor();
        await page.keyboard.press("i");
        await page.keyboard.type("it repeats itself");
        await page.keyboard.press("Enter");
        await page.keyboard.press("x");
        await page.getByText("People differ on 1 turn").waitFor();
        await page.getByText("1 of 3 turns judged, 1 by you").waitFor();
        await page.getByRole("button", { name: "Next without a verdict" }).click();
        await page.getByRole("heading", { name: "Turn 2 of 3" }).waitFor();
        await page.keyboard.press("v");
        await page.getByText("2 of 3 turns judged, 2 by you").waitFor();
        await page.keyboard.press("u");
        await page.getByText("1 of 3 turns judged, 1 by you").waitFor();
        const { body } = await server.call("GET", "/conversations/review", undefined, ben);
        const mine = body.verdicts.filter((one) => one.by === "ann");
        assert.deepEqual(
            mine.map(({ turn, verdict, reason }) => ({ turn, verdict, reason })),
            [
                { turn: 1, verdict: "drop", reason: "it repeats itself" },
                { turn: 2, verdict: "undecided", reason: undefined },
            ],
        );
        await page.getByRole("button", { name: "Sign out" }).click();
        await page.getByRole("heading", { name: "Sign in" }).waitFor();
        assert.deepEqual(errors, []);
    } finally {
        await context.close();
        await server.close();
    }
});

test("review_shows_what_rules_and_judge_propose_but_for_turns_that_are_judged_blind", () =>
    withPage(async ({ server, page }) => {
        const agent = await Agent.open(server, "proposed", { turns: 40 });
        for (let turn = 0; turn < 30; turn++) {
            await agent.step({ code: `x = ${turn}`, raised: turn % 10 === 3 ? "KeyError" : null });
        }
        const judged = (turn, verdict) => ({
            version: 1,
            trajectory: { task: "night-shifts", agent: "react/scripted", attempt: 0 },
            turn,
            verdict,
            by: { judge: "critic" },
            reason: `the judge on turn ${turn}`,
            seq: turn + 1,
        });
        const lines = Array.from({ length: 30 }, (_, turn) =>
            JSON.stringify(judged(turn, turn === 6 ? "undecided" : "keep")),
        );
        writeFileSync(
            join(server.store, "conversations/proposed/verdicts.jsonl"),
            lines.join("\n") + "\n",
        );
        const { body } = await server.call("GET", "/conversations/proposed/proposals");
        assert.equal(body.turns, 30);
        assert.ok(body.blind.length > 0 && !body.blind.some((turn) => [3, 6, 13].includes(turn)));
        assert.ok(!body.proposals.some((one) => body.blind.includes(one.turn)));

        await page.goto(`${server.url}/#/run/proposed/review`);
        await page.getByRole("button", { name: "Next proposed to drop" }).click();
        await page.getByRole("heading", { name: "Turn 3 of 30" }).waitFor();
        const proposals = page.getByLabel("Proposals for this turn");
        await proposals.getByText("drop proposed by the rule raised").waitFor();
        await proposals.getByText("the judge on turn 3").waitFor();
        await page.keyboard.press("v");
        await page.getByText("1 of 30 turns judged, 1 by you").waitFor();
        await page.getByRole("button", { name: "Next proposed to drop" }).click();
        await page.getByRole("heading", { name: "Turn 13 of 30" }).waitFor();
        await page.getByRole("heading", { name: "The judge left 1 turn to people" }).waitFor();
        await page.getByRole("button", { name: "Turn 6", exact: true }).click();
        await proposals.getByText("undecided proposed by the judge critic").waitFor();
        await page.keyboard.press("x");
        await page.getByRole("heading", { name: "The judge left" }).waitFor({ state: "hidden" });
        // A turn that is judged blind shows no more after its verdict than before.
        await page.keyboard.press("g");
        for (let turn = 0; turn < body.blind[0]; turn++) await page.keyboard.press("j");
        await page.getByRole("heading", { name: `Turn ${body.blind[0]} of 30` }).waitFor();
        await proposals.getByText("This turn is judged blind").waitFor();
        await page.keyboard.press("v");
        await page.getByText("3 of 30 turns judged, 3 by you").waitFor();
        assert.equal(await proposals.getByText("the judge on turn").count(), 0);
        // What the run adds is looked at when it is shown.
        await agent.step({ code: "y = 1", raised: "ValueError" });
        await page.keyboard.press("G");
        await page.getByRole("heading", { name: "Turn 30 of 31" }).waitFor();
        await proposals.getByText(/proposed by the rule raised|judged blind/).waitFor();
    }));

test("replay_shows_the_run_as_it_was_after_each_event", () =>
    withPage(async ({ server, page }) => {
        const agent = await Agent.open(server, "replay");
        await agent.step();
        await server.call("POST", "/conversations/replay/guidance", {
            id: "one",
            what: { text: "Slow down" },
        });
        await agent.step();
        await agent.step();
        await agent.close();
        await page.goto(`${server.url}/#/run/replay/replay`);
        await page.getByText("the run ended: answered").waitFor();
        await page.locator("#turn-2 .heard").getByText("Slow down").waitFor();
        // The latest turn is in view, and the keyboard stays where it was.
        await page.waitForFunction(() => {
            const view = document.querySelector(".steps").getBoundingClientRect();
            const top = document.querySelector("#turn-2").getBoundingClientRect().top;
            return top >= view.top && top < view.bottom - 100;
        });
        await page.keyboard.press("g");
        await page.getByText("the agent opened the conversation").waitFor();
        assert.equal(await page.locator(".step").count(), 0);
        for (let event = 0; event < 2; event++) await page.keyboard.press("j");
        await page.locator(".replay .pieces").getByText("queued").waitFor();
        assert.equal(await page.locator(".step").count(), 1);
        await page.keyboard.press("G");
        await page.locator(".replay .pieces").getByText("acknowledged").waitFor();
        await page.locator("#turn-2").waitFor();
    }));

test("run_that_is_told_again_ends_in_the_states_that_were_recorded_and_nobody_can_write", () =>
    withPage(async ({ server, page }) => {
        // A person posts one piece a second.
        const advise = (id, text) =>
            until(async () => {
                const body = { id, what: { text } };
                return (await server.call("POST", "/conversations/again/guidance", body)).status === 201;
            }, "a piece is posted");
        const agent = await Agent.open(server, "again");
        await agent.step();
        await advise("one", "Slow down");
        await agent.step();
        await agent.step({ raised: "ValueError", observation: "ValueError: no" });
        await server.call("PUT", "/conversations/again/verdicts/2", { verdict: "drop", reason: "a guess" });
        await server.call("POST", "/conversations/again/marks", { turn: 1, note: "well done" });
        await advise("two", "Look at products");
        await agent.close();
        /** What a person sees of the run. */
        const shown = async () => {
            const texts = [];
            await page.goto(`${server.url}/#/run/again`);
            await page.getByText("Slow down").first().waitFor();
            for (const place of [".steps", ".pieces"]) {
                await until(
                    async () => (await page.locator(place).first().innerText()).trim() !== "",
                    `a text in ${place}`,
                );
                texts.push([place, await page.locator(place).first().innerText()]);
            }
            return texts;
        };
        const recorded = await shown();
        // Slow enough for a person to see it grow: pauses of a few milliseconds become half a second.
        await server.replay("again", "--speed", "0.001", "--longest-pause", "500ms");
        await page.goto(`${server.url}/#/run/again`);
        await page.reload();
        await page.locator("#turn-0").waitFor();
        assert.equal(await page.locator("#turn-2").count(), 0, "it is not yet told");
        await page.locator("#turn-2").waitFor();
        await page.locator(".pieces").first().getByText("late").waitFor();
        assert.deepEqual(await shown(), recorded);
        await page.goto(`${server.url}/#/run/again`);
        await page.locator("#turn-2").waitFor();
        await page.getByText("This run is told again. Nobody can change anything.").waitFor();
        assert.equal(await field(page).count(), 0);
    }));
