// Fifty runs and ten people for minutes: what an agent and a person at the page wait, and the server's memory.
//
//     node load.mjs [--minutes 10] [--runs 50] [--people 10]
//
// One person is at the page in Chromium, the others follow the server's events as it does. Each looks at
// another run every half minute and advises it. Prints a line a minute, and a line of JSON at the end.

import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { Agent } from "./agent.mjs";
import { launch, noteTurns, open, whenShown } from "./browser.mjs";
import { Server } from "./server.mjs";
import { pause, quantile } from "./times.mjs";

/** Milliseconds between two turns of a run, in the mean. */
const TURN = 3000;
/** Milliseconds after which a person goes to another run. */
const VISIT = 30_000;

const { values } = parseArgs({
    options: {
        minutes: { type: "string", default: "10" },
        runs: { type: "string", default: "50" },
        people: { type: "string", default: "10" },
    },
});
const [minutes, runs, people] = ["minutes", "runs", "people"].map((name) => {
    const number = Number(values[name]);
    const isRight = number > 0 && (name === "minutes" || Number.isInteger(number));
    const kind = name === "minutes" ? "a number" : "a whole number";
    if (!isRight) throw new Error(`--${name} must be ${kind} above 0, and is ${values[name]}`);
    return number;
});

/** When runs and people are to stop; set once all are there. */
let until = 0;
const isOn = () => Date.now() < until;
const left = (most) => Math.min(most, Math.max(0, until - Date.now()));

/** MiB of the server's own that are in memory. */
function memory(server) {
    const lines = readFileSync(`/proc/${server.child.pid}/status`, "utf8");
    return Number(/RssAnon:\s+(\d+)/.exec(lines)[1]) / 1024;
}

/** Takes turns until the time is over, and notes what each answer took. */
async function work(agent, answered) {
    await pause(Math.random() * TURN);
    while (isOn()) {
        const began = performance.now();
        await agent.step();
        answered.push(performance.now() - began);
        await pause(TURN * (0.5 + Math.random()));
    }
}

/** A person without a page: follows one run after another, and advises each once. */
async function follow(server, name, token, said) {
    const headers = { authorization: `Bearer ${token}` };
    for (let visit = 0; isOn(); visit++) {
        const run = `run${Math.floor(Math.random() * runs)}`;
        const advice = { id: `${name}-${visit}`, what: { text: `Look at products of columns (${name})` } };
        const answer = await server.call("POST", `/conversations/${run}/guidance`, advice, headers);
        assert.equal(answer.status, 201);
        said.push(advice.id);
        const events = `${server.url}/api/v1/events?watch=${run}&from=0`;
        try {
            const stream = await fetch(events, { headers, signal: AbortSignal.timeout(left(VISIT)) });
            assert.equal(stream.status, 200);
            for await (const _ of stream.body);
        } catch (error) {
            if (error.name !== "TimeoutError") throw error;
        }
    }
}

/** The person at the page: notes when a turn is on it, after the agent's request. */
async function watch(page, server, agent, shown) {
    await page.goto(`${server.url}/#/run/${agent.id}`);
    await page.locator(".step").first().waitFor();
    await noteTurns(page);
    while (isOn()) {
        const turn = agent.turn;
        const began = Date.now();
        await agent.step();
        shown.push((await whenShown(page, turn)) - began);
        // Only what is near the view is drawn.
        await page.keyboard.press("G");
        await pause(TURN / 3);
    }
}

const server = await Server.start();
await server.kill();
const bot = server.token("bot", "agent");
const tokens = Array.from({ length: people }, (_, number) => server.token(`person${number}`, "annotator"));
await server.spawn();
const browser = await launch();
try {
    const { page, errors } = await open(browser);
    const agents = [];
    for (let number = 0; number < runs; number++)
        agents.push(await Agent.open(server, `run${number}`, { turns: 10_000, token: bot }));
    for (const agent of agents) await agent.step();
    await page.goto(server.url);
    await page.getByLabel("Name").fill("person0");
    await page.getByLabel("Token").fill(tokens[0]);
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "night-shifts" }).first().waitFor();
    const [answered, shown, said, megabytes] = [[], [], [], [memory(server)]];
    const [watched, ...others] = agents;
    const tell = async () => {
        for (let minute = 1; isOn(); minute++) {
            await pause(left(60_000));
            megabytes.push(memory(server));
            console.log(
                `minute ${minute}: ${answered.length + shown.length} turns, ${megabytes.at(-1).toFixed(1)} MiB`,
            );
        }
    };
    until = Date.now() + minutes * 60_000;
    await Promise.all([
        ...others.map((agent) => work(agent, answered)),
        ...tokens.slice(1).map((token, index) => follow(server, `person${index + 1}`, token, said)),
        watch(page, server, watched, shown),
        tell(),
    ]);
    // Each run takes one more turn, and with it has heard all that was said.
    for (const agent of agents) await agent.step();
    const heard = agents.reduce((sum, agent) => sum + agent.heard.length, 0);
    assert.equal(heard, said.length, "advice that was heard, and that was said");
    assert.deepEqual(errors, []);
    const whole = answered.map(Math.round);
    const spread = (times) => [0.5, 0.95, 0.99].map((share) => quantile(times, share));
    console.log(
        JSON.stringify({
            minutes,
            runs,
            people,
            turns: answered.length + shown.length,
            said: said.length,
            answered_p50_p95_p99_ms: spread(whole),
            shown_p50_p95_p99_ms: spread(shown),
            memory_mib: megabytes.map((value) => Math.round(value * 10) / 10),
        }),
    );
} finally {
    await browser.close();
    await server.close();
}
