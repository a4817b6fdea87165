// An agent without a model: it tells turns to the server, or writes a journal of many into a store.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const SCRIPT = `import pandas as pd  # the tables

train = pd.read_csv("input/train.csv")
train["product"] = train["x1"] * train["x2"]
print(f"{len(train)} rows", train.shape)
for name in train.columns:
    if name != "id":
        print(name, train[name].nunique(), 1.5e-3)
`;

export function opening({ task = "night-shifts", agent = "react/scripted", turns = 20 } = {}) {
    return {
        task,
        agent,
        attempt: 0,
        turns,
        seconds: 3600,
        feedback: "tier",
        prompt: [
            { role: "system", content: "You solve tasks. Advice of a person may appear; follow it." },
            { role: "user", content: "Predict the target of each row in input/test.csv." },
        ],
    };
}

/** What an agent tells of a turn. */
export function report(
    turn,
    {
        code = SCRIPT,
        observation = `200 rows (200, 4)\nturn ${turn}`,
        raised = null,
        tool = "python",
        thought,
    } = {},
) {
    const action =
        tool === "score"
            ? '<tool_call>\n{"name": "Score"}\n</tool_call>'
            : `<tool_call>\npython\n<code>\n${code}\n</code>\n</tool_call>`;
    const ending = raised ? { outcome: "raised", exception: raised } : { outcome: "finished" };
    return {
        thought:
            thought ?? `<think>Turn ${turn}: look at the columns first, then at products of them.</think>\n`,
        action,
        observation,
        record: {
            tool,
            has_thought: true,
            outcome: tool === "python" ? ending : null,
            seconds: tool === "python" ? 1.25 : 0,
        },
    };
}

export class Agent {
    constructor(server, id, settings = {}) {
        Object.assign(this, { server, id, settings });
        this.turn = 0;
        this.have = 0;
        /** Texts that it has read, in order. */
        this.heard = [];
    }

    static async open(server, id, settings = {}) {
        const agent = new Agent(server, id, settings);
        await agent.tell("", { id, opening: opening(settings) });
        return agent;
    }

    async tell(rest, body) {
        const headers = this.settings.token ? { authorization: `Bearer ${this.settings.token}` } : {};
        const path = rest === "" ? "/conversations" : `/conversations/${this.id}${rest}`;
        const answer = await this.server.call("POST", path, body, headers);
        if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
        return answer.body;
    }

    /** Takes a turn, and reads what people say. */
    async step(what = {}) {
        const answer = await this.tell("/turns", {
            turn: this.turn,
            have: this.have,
            listens: true,
            report: report(this.turn, what),
        });
        this.turn++;
        for (const piece of answer.guidance) {
            if (piece.seq <= this.have) continue;
            this.have = piece.seq;
            this.heard.push(piece.text);
        }
        return answer;
    }

    close(end = { ending: "answered", grade: null, refusal: "no submission" }) {
        return this.tell("/close", { have: this.have, end });
    }
}

/** Writes the journal of a run of many turns into a store that is not served. */
export function writeRun(store, id, turns, what = () => ({})) {
    const { prompt, ...rest } = opening({ turns });
    const first = {
        kind: "opened",
        ...rest,
        prompt: prompt.map(({ role, content }) => ({ role, text: content })),
    };
    const events = [first];
    for (let turn = 0; turn < turns; turn++) events.push({ kind: "turn", turn, ...report(turn, what(turn)) });
    const lines = events.map((event, index) =>
        JSON.stringify({ version: 1, seq: index + 1, at: 1_700_000_000_000 + index, event }),
    );
    const folder = join(store, "conversations", id);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "journal.jsonl"), `${lines.join("\n")}\n`);
}
