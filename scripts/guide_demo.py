#!/usr/bin/env python3
"""A guide server and an agent to try it on, without a model: `make guide-demo`.

Makes one small task, serves a store, and has the scaffold `react` play the task over and over. Its model
is a script behind OpenAI's protocol that takes two seconds a turn: it walks through a plan, makes mistakes
on purpose, and does next what a person advises. Its scripts run in the sandbox as those of any agent.
Ends with Ctrl+C.
"""

import argparse
import json
import pathlib
import re
import signal
import subprocess
import sys
import time

from scripted_player import scripted

ROOT = pathlib.Path(__file__).resolve().parent.parent

READ = """import pandas as pd
train, test = pd.read_csv("input/train.csv"), pd.read_csv("input/test.csv")
sample = pd.read_csv("input/sample_submission.csv")
key, target = sample.columns[0], sample.columns[1]
"""
FEATURES = """rows = pd.concat([train.drop(columns=target), test]).drop(columns=key)
x = pd.get_dummies(rows.select_dtypes(["number", "object"]), dtype=float).fillna(-1.0)
"""
PRODUCTS = """names = list(rows.select_dtypes("number").columns)[:6]
for i, one in enumerate(names):
    for other in names[i + 1 :]:
        x[f"{one}*{other}"] = (rows[one] * rows[other]).fillna(0.0)
print(x.shape[1], "columns with products of pairs")
"""
FIT = """from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.model_selection import cross_val_score
kind = RandomForestRegressor if train[target].dtype == float else RandomForestClassifier
model = kind({trees}, min_samples_leaf={leaf}, random_state=0)
print("cross-validation:", cross_val_score(model, x[: len(train)], train[target], cv=3).round(4))
sample[target] = model.fit(x[: len(train)], train[target]).predict(x[len(train) :])
sample.to_csv("submission.csv", index=False)
print("written:", sample.shape)
"""
LOOK = "print(train.shape, test.shape)\nprint(train.describe().T.iloc[:, :4].round(2).to_string())\n"
SLIP = "from sklearn.ensemble import RandomForestClasifier\nmodel = RandomForestClasifier(100)\n"
RELATED = """numbers = train.select_dtypes("number").drop(columns=key, errors="ignore")
codes = pd.Series(pd.factorize(train[target], sort=True)[0], index=train.index)
print(numbers.corrwith(codes).abs().sort_values().tail(8).round(3).to_string())
"""


def script(thought, code):
    return f"<think>{thought}</think>\n<tool_call>\npython\n<code>\n{code}</code>\n</tool_call>"


def score(thought):
    return f'<think>{thought}</think>\n<tool_call>\n{{"name": "Score"}}\n</tool_call>'


ANSWER = "<think>I hand in what there is.</think>\n<answer>submission</answer>"


def planned(turn):
    """What the player does by itself: a start, and then forests of many sizes with slips in between."""
    start = [
        script("First a look at the tables.", READ + LOOK),
        script("A forest is a good start.", SLIP),
        script("The name was misspelt. Once more.", READ + FEATURES + FIT.format(trees=40, leaf=5)),
        score("How good is that?"),
    ]
    if turn < len(start):
        return start[turn]
    trees, leaf = 20 + 10 * (turn % 7), 1 + turn % 4
    if turn % 9 == 5:
        return script("More trees, quickly.", SLIP)
    if turn % 6 == 3:
        return score("Has it become better?")
    return script(
        f"A forest of {trees} trees with leaves of {leaf}.",
        READ + FEATURES + FIT.format(trees=trees, leaf=leaf),
    )


def advised(advice, turn):
    """What the player does after advice."""
    said = re.sub(r"[^\w .,:;!?'()/*+-]", " ", advice)[:300].strip()
    thought = f"A person advises: {said} I do that now."
    wants = advice.lower()
    if re.search(r"\b(stop|end|finish|hand in|submit|answer)\b", wants):
        return ANSWER
    if re.search(r"product|ratio|combin|interact", wants):
        return script(thought, READ + FEATURES + PRODUCTS + FIT.format(trees=60, leaf=2))
    if "score" in wants:
        return score(thought)
    if re.search(r"import|spell|spelt|typo|error|mistake", wants):
        return script(
            thought,
            "# The name is spelt RandomForestClassifier.\n" + READ + FEATURES + FIT.format(trees=60, leaf=2),
        )
    return script(thought, READ + f"# As advised: {said}\n" + RELATED)


def player(pace):
    """Replies after `pace` seconds."""

    def reply(request):
        messages = request["messages"]
        time.sleep(pace)
        turn = sum(message["role"] == "assistant" for message in messages)
        last = max((i for i, message in enumerate(messages) if message["role"] == "assistant"), default=0)
        new = "\n".join(str(message["content"]) for message in messages[last + 1 :])
        advice = re.findall(
            r"<real_user>\s*(?:\(about your turn \d+\)\s*)?(.*?)\s*</real_user>", new, re.DOTALL
        )
        text = advised(" ".join(advice), turn) if advice and turn else planned(turn)
        return {"role": "assistant", "content": text}

    return reply


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--bin", type=pathlib.Path, default=ROOT / "target/release", help="folder of the programs"
    )
    parser.add_argument(
        "--out", type=pathlib.Path, default=ROOT / "generated/guide-demo", help="folder of the results"
    )
    parser.add_argument("--listen", default="127.0.0.1:8300", help="address of the guide server")
    parser.add_argument("--pace", type=float, default=2.0, help="seconds a turn")
    parser.add_argument("--turns", type=int, default=60, help="most turns of a run")
    parser.add_argument("--runs", type=int, default=100, help="runs, one after the other")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    corpus = args.out / "corpus"
    generate = [args.bin / "factory", "generate", "--count", "1", "--val-count", "0", "--seed", "3"]
    generate += ["--modality", "tabular", "--formulation", "regression", "--out", corpus]
    made = subprocess.run(generate, capture_output=True, text=True)
    if made.returncode != 0:
        sys.exit(made.stderr)
    task = next(path.parent for path in sorted(corpus.glob("*/task.json")))
    store = args.out / "store"
    serve = [args.bin / "agents", "guide", "serve", "--store", store, "--listen", args.listen]
    server = subprocess.Popen(serve, stdout=subprocess.PIPE, text=True)
    # Ends as the server does: politely, also when the terminal's window is closed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        address = re.search(r"http://\S+", server.stdout.readline())
        if not address:
            hint = "--listen names another address"
            sys.exit(f"error: the guide server did not start; is {args.listen} taken? {hint}")
        print(f"\nOpen {address[0]} in a browser, choose the run, press i, write, press Ctrl+Enter.")
        print("Ctrl+C ends the demo.\n", flush=True)
        with scripted(player(args.pace)) as model:
            endpoint = {"protocol": "openai", "base_url": f"{model}/v1", "free": True}
            lines = [f"{key} = {json.dumps(value)}" for key, value in endpoint.items()]
            models = args.out / "models.toml"
            models.write_text("[endpoint.demo]\n" + "\n".join(lines) + "\n")
            done = len(list((args.out / "runs").glob("*")))
            for number in range(done, done + args.runs):
                run = [
                    args.bin / "agents",
                    "run",
                    "--scaffold",
                    "react",
                    "--model",
                    "demo:scripted",
                    "--models",
                    models,
                ]
                run += [
                    "--task",
                    task,
                    "--out",
                    args.out / "runs" / str(number),
                    "--seed",
                    str(number),
                    "--guide",
                    address[0],
                ]
                subprocess.run([*run, "--set", f"turns={args.turns}"], check=True, stdout=subprocess.DEVNULL)
    except KeyboardInterrupt:
        pass
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
