// Runs of thousands of turns, and turns of a megabyte.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Agent, writeRun } from "./agent.mjs";
import { launch, noteTurns, open, whenShown } from "./browser.mjs";
import { Server } from "./server.mjs";
import { pause, quantile } from "./times.mjs";

/** @type {import("playwright-core").Browser} */
let browser;
before(async () => {
    browser = await launch();
});
after(() => browser?.close());

test("run_of_5000_turns_opens_within_a_second_scrolls_and_draws_only_what_is_near", async () => {
    const server = await Server.start((store) =>
        writeRun(store, "long", 5000, (turn) => ({ observation: `row ${turn}\n`.repeat(10) })),
    );
    const { context, page, errors } = await open(browser);
    try {
        await page.goto(server.url);
        await page.getByRole("link", { name: "night-shifts" }).waitFor();
        const opened = await page.evaluate(async () => {
            const began = performance.now();
            document.querySelector("tbody a").click();
            while (!document.querySelector("#turn-4999.current")) await new Promise(requestAnimationFrame);
            return performance.now() - began;
        });
        console.log(`5,000 turns opened in ${opened.toFixed(0)} ms`);
        assert.ok(opened < 1000, `it took ${opened} ms`);
        const drawn = () => page.locator(".step").count();
        assert.ok((await drawn()) < 100, `${await drawn()} turns are drawn`);
        await page.keyboard.press("g");
        await page.locator("#turn-0.current").waitFor();
        const steps = page.locator(".steps");
        for (const share of [0.2, 0.5, 0.8]) {
            await steps.evaluate((box, share) => (box.scrollTop = box.scrollHeight * share), share);
            await page.waitForFunction(() => {
                const box = document.querySelector(".steps").getBoundingClientRect();
                return [...document.querySelectorAll(".step")].some((step) => {
                    const place = step.getBoundingClientRect();
                    return place.top < box.bottom && place.bottom > box.top;
                });
            });
            assert.ok((await drawn()) < 100, `${await drawn()} turns are drawn`);
        }
        // Dragged through all of it, nothing is left behind.
        await steps.evaluate(async (box) => {
            for (let share = 0; share <= 1; share += 0.004) {
                box.scrollTop = box.scrollHeight * share;
                await new Promise(requestAnimationFrame);
            }
        });
        // The end moves while what is above it turns out to be higher.
        await page.waitForFunction(() => {
            const box = document.querySelector(".steps");
            box.scrollTop = box.scrollHeight;
            return document.querySelector("#turn-4999");
        });
        await page.waitForFunction(() => document.querySelectorAll(".step").length < 100);
        await page.keyboard.press("/");
        await page.keyboard.type("row 2503");
        await page.keyboard.press("Enter");
        await page.locator("#turn-2503.current").waitFor();
        assert.deepEqual(errors, []);
    } finally {
        await context.close();
        await server.close();
    }
});

test("turn_of_one_of_50_agents_is_on_the_page_within_a_quarter_of_a_second", async () => {
    const server = await Server.start();
    const { context, page, errors } = await open(browser);
    try {
        const agents = [];
        for (let number = 0; number < 50; number++)
            agents.push(await Agent.open(server, `run${number}`, { turns: 1000 }));
        const [watched, ...others] = agents;
        await watched.step();
        await page.goto(`${server.url}/#/run/run0`);
        await page.locator("#turn-0").waitFor();
        await noteTurns(page);
        let isOn = true;
        const busy = others.map(async (agent, number) => {
            for (; isOn; await pause(2000)) {
                await pause(40 * number);
                await agent.step();
            }
        });
        const shown = [];
        const answered = [];
        for (let turn = 1; turn <= 60; turn++) {
            const began = Date.now();
            await watched.step();
            answered.push(Date.now() - began);
            shown.push((await whenShown(page, turn)) - began);
            // Only what is near the view is drawn.
            await page.keyboard.press("G");
            await pause(100);
        }
        isOn = false;
        await Promise.all(busy);
        console.log(
            `from an agent's request to the page: p50 ${quantile(shown, 0.5)} ms, p95 ${quantile(shown, 0.95)} ms; to its answer: p95 ${quantile(answered, 0.95)} ms`,
        );
        assert.ok(quantile(shown, 0.95) <= 250);
        assert.deepEqual(errors, []);
    } finally {
        await context.close();
        await server.close();
    }
});

test("observation_of_a_mebibyte_is_shown_when_it_is_asked_for", async () => {
    const server = await Server.start();
    const { context, page, errors } = await open(browser);
    try {
        const agent = await Agent.open(server, "big");
        await agent.step({ observation: `${"0123456789abcde\n".repeat(65536)}the end` });
        await page.goto(`${server.url}/#/run/big`);
        const observation = page.locator("#turn-0 .observation");
        await observation.getByRole("button", { name: "Show 1.0 MiB" }).click();
        await observation.getByText("the end").waitFor();
        assert.equal((await observation.textContent()).length, 16 * 65536 + 7);
        assert.deepEqual(errors, []);
    } finally {
        await context.close();
        await server.close();
    }
});
