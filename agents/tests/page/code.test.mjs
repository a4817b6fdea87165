// The tokenizer, without a browser.

import assert from "node:assert/strict";
import { test } from "node:test";
import { script, tokens } from "../../../crates/agents/web/guide/code.js";
import { SCRIPT } from "./agent.mjs";

const PROGRAMS = [
    SCRIPT,
    "",
    "x = 'open\ny = \"also open",
    "'''never closed\nimport os",
    "f\"{a['b']}\" + r'\\' # comment \u{1F600}\nдата = 0x1f",
    'def f():\n\t"""doc"""\n\treturn not None',
];

test("tokens_joined_are_the_program", () => {
    for (const program of PROGRAMS) {
        const joined = tokens(program)
            .map(({ text }) => text)
            .join("");
        assert.equal(joined, program);
    }
});

test("keywords_strings_numbers_and_comments_are_told_apart", () => {
    const found = tokens('import os  # "no string"\nx = "import" + 1.5').filter(({ kind }) => kind);
    assert.deepEqual(
        found.map(({ kind, text }) => [kind, text]),
        [
            ["keyword", "import"],
            ["comment", '# "no string"'],
            ["string", '"import"'],
            ["number", "1.5"],
        ],
    );
});

test("script_of_an_action_is_its_code_and_other_actions_are_themselves", () => {
    const action = "<tool_call>\npython\n<code>\nprint(1)\n</code>\n</tool_call>";
    assert.deepEqual(script(action), { code: "print(1)", rest: "" });
    assert.deepEqual(script(" <answer>submission</answer>"), {
        code: null,
        rest: "<answer>submission</answer>",
    });
});
