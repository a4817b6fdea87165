#!/usr/bin/env python3
"""What cheap checks before a full run are worth: FT-Agent beside the staged workflow.

    posttrain make --suite ftdojo --scale tiny --seed 4711 --out generated/dojo
    posttrain base generated/dojo --words 200000 --out generated/dojo-base
    scripts/fail_fast_study.py --suite generated/dojo --base generated/dojo-base/model --out generated/study

Both workflows play the same seeded stream of proposals for `aime`, of which every second one has a fault
in its script, its data or its settings; a draft that is sent back comes back without it. Each has the same
time. Counted are full trainings that ended and whose model was scored, and those among them whose draft
had no fault. Limits of single stages are the paper's shares of the budget.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
from pathlib import Path

from scripted_player import scripted

ROOT = Path(__file__).resolve().parent.parent
END = "estimate = len(samples)"
# What tests of the checks take for a script without a fault. Each proposal draws other rows, and that most
# problems have no solution is no filter of its own.
SOUND = (ROOT / "crates/posttrain/tests/suite/ft/sound.py").read_text()
for old, new in {
    "import json": "import json\nimport random",
    '"seen": len(rows)': '"seen": len(solved)',
    "samples = [": "solved = random.Random(DRAW).sample(solved, min(400, len(solved)))\nsamples = [",
}.items():
    assert old in SOUND, old
    SOUND = SOUND.replace(old, new, 1)
CONFIG = "epochs = {epochs}\nlearning_rate = 1e-3\n"
FEW = "filters.append({'name': 'hard', 'seen': len(samples), 'kept': 8})\nsamples = samples[:8]"


def changed(old, new):
    """A fault that puts `new` in the place of `old`."""
    assert old in SOUND + CONFIG, old
    return lambda text: text.replace(old, new)


def added(lines):
    """A fault in lines before the samples are written."""
    return changed(END, f"{lines}\n{END}")


# Name, what it changes (the script or the settings), and how.
FAULTS = [
    # The first run of the script shows it.
    ("syntax error", "script", added("if:")),
    ("module that is not there", "script", changed("import random", "import random, datasets")),
    ("path that is not there", "script", changed("problems.jsonl", "problem.jsonl")),
    ("column that is not there", "script", changed("row['answer']", "row['result']")),
    ("writes into the raw data", "script", changed('open("data.json"', 'open("data/data.json"')),
    ("no summary", "script", changed('"SUMMARY "', '"DONE "')),
    ("field of another name", "script", changed('"output":', '"answer":')),
    ("endless loop", "script", added("while len(samples) < 500:\n    pass")),
    ("memory", "script", added("rows = [bytearray(1 << 24) for _ in range(999)]")),
    (
        "too many samples",
        "script",
        added("samples = [s | {'input': str(i)} for i in range(8) for s in samples]"),
    ),
    # The trainer shows it.
    ("unknown key", "config", lambda text: text + "learning_rat = 1e-3\n"),
    ("wrong type", "config", lambda text: text + 'batch = "16"\n'),
    ("rate that no training survives", "config", changed("1e-3", "0.09")),
    ("context beyond the model", "config", lambda text: text + "context = 100000\n"),
    ("every sample too long", "script", added("samples = [s | {'input': 'word ' * 2000} for s in samples]")),
    # The score alone shows it, after a full training.
    ("answers without reasoning", "script", changed("{row['solution']}\\n", "")),
    ("answers in another form", "script", changed("\\\\boxed{{{row['answer']}}}", "It is {row['answer']}.")),
    ("filters that keep 2 %", "script", added(FEW)),
    ("duplicates", "script", added("samples = samples[:40] * 10")),
    ("most samples too long", "script", added("for s in samples[40:]:\n    s['input'] = 'word ' * 2000")),
]


# Minutes of single stages in the paper's twelve hours.
LIMITS = {"debug_data": 20, "mini_run": 30, "data": 60}


def stream(seed):
    """Forty proposals, each the fault that it has, or none."""
    faults = FAULTS.copy()
    random.Random(seed).shuffle(faults)
    return [fault for one in faults for fault in (None, one)]


def proposal(number, epochs):
    data = {
        "sources": [{"source": "mathematics", "subset": None, "share": 1.0}],
        "filters": ["has a solution"],
        "sampling": "diversity",
        "synthesis": {"teacher": "none", "what": ""},
        "target_samples": 400 + number,
    }
    return {
        "reason": f"draw {number} of the samples",
        "focus": "both",
        "data": data,
        "training": {"epochs": epochs},
        "addresses": "wrong answers",
        "expects": 0.5,
        "reuse_data": False,
        "accept_retention": False,
    }


class Stream:
    """Answers the questions of a planner with the stream's proposals, one after another."""

    def __init__(self, seed, epochs):
        self.faults, self.epochs, self.proposed = stream(seed), epochs, 0

    def __call__(self, request):
        asked, shown = (message["content"] for message in request["messages"][:2])
        return {"role": "assistant", "content": self.answer(asked, json.loads(shown))}

    def answer(self, asked, shown):
        if "You plan experiments" in asked:
            self.proposed += 1
            return json.dumps(proposal(self.proposed, self.epochs))
        if "`process_data.py`, a Python script" in asked:
            return f"```python\n{self.draft('script', self.script(shown), shown)}```"
        if "`train.toml`, the training settings" in asked:
            return f"```toml\n{self.draft('config', CONFIG.format(epochs=self.epochs), shown)}```"
        if "You explain what the checks" in asked:
            return json.dumps({"execution": "-", "return_checking": "-", "code": "-", "final_decision": True})
        gap = {"dimension": "-", "evidence": "-", "kind": "reasoning"}
        return json.dumps({"summary": "-", "gaps": [gap], "reason": "-", "next": "-"})

    def number(self, shown):
        return shown["proposal"]["data"]["target_samples"] - 400

    def script(self, shown):
        return SOUND.replace("DRAW", str(self.number(shown)))

    def draft(self, part, text, shown):
        """The text with the fault of its proposal, unless a draft was sent back."""
        fault = self.faults[(self.number(shown) - 1) % len(self.faults)]
        if fault is None or fault[1] != part or shown["rejected"]:
            return text
        return fault[2](text)


def play(args, workflow, seed):
    """A run of one workflow; returns what it came to."""
    out = args.out / f"{workflow}-{seed}"
    out.mkdir(parents=True, exist_ok=True)
    # Shares of twelve hours, but at least the time in which a trainer starts.
    seconds = {name: max(20, minutes * args.minutes // 12) for name, minutes in LIMITS.items()}
    limits = "".join(f'{name} = "{limit}s"\n' for name, limit in seconds.items())
    (out / "settings.toml").write_text(f"[limits]\n{limits}")
    flags = {
        "--base": args.base,
        "--out": out / "run",
        "--planner": "stream:proposals",
        "--models": out / "models.toml",
        "--settings": out / "settings.toml",
        "--workflow": workflow,
        "--loops": 40,
        "--budget": f"{args.minutes}m",
        "--seed": seed,
    }
    words = [str(word) for flag in flags.items() for word in flag]
    with scripted(Stream(seed, args.epochs)) as url, open(out / "log", "w") as log:
        endpoint = f'[endpoint.stream]\nprotocol = "openai"\nbase_url = "{url}/v1"\nkey_env = "STREAM_KEY"\n'
        (out / "models.toml").write_text(endpoint)
        command = [args.bin / "posttrain", "ft", args.suite, "aime", *words]
        done = subprocess.run(
            command, stdout=log, stderr=log, env=os.environ | {"STREAM_KEY": "unused-0123456789"}
        )
    if done.returncode != 0:
        sys.exit(f"error: {workflow} ended with code {done.returncode}; {out}/log says why")
    return count(out / "run/agent/journal.jsonl", stream(seed))


def count(journal, faults):
    """Full trainings whose models were scored, those of drafts without a fault, and rejected drafts."""
    found = {"full": 0, "sound": 0, "rejected": 0, "seconds of rejected drafts": 0.0}
    fault, drafts = None, 0
    for line in journal.read_text().splitlines():
        event = json.loads(line)
        match event["event"]:
            case "proposed":
                fault, drafts = faults[(event["experiment"] - 1) % len(faults)], 0
            case "drafted":
                drafts += 1
            case "checked" if any(check["outcome"]["outcome"] == "rejected" for check in event["checks"]):
                found["rejected"] += 1
                found["seconds of rejected drafts"] += sum(check["seconds"] for check in event["checks"])
            case "ended" if event["outcome"]["ended"] == "evaluated":
                found["full"] += 1
                found["sound"] += fault is None or drafts > 1
    return found


def main():
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--suite", type=Path, required=True, help="a suite of FT-Dojo")
    parser.add_argument("--base", type=Path, required=True, help="a base model for it")
    parser.add_argument("--out", type=Path, required=True, help="the folder of the runs")
    parser.add_argument("--bin", type=Path, default=Path("target/release"), help="where the programs are")
    parser.add_argument("--minutes", type=int, default=12, help="the time of each run")
    parser.add_argument("--epochs", type=int, default=2, help="of a full training")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="of the stream")
    args = parser.parse_args()
    for seed in args.seeds:
        found = {name: play(args, name, seed) for name in ("fail-fast", "staged")}
        for name, counts in found.items():
            told = ", ".join(f"{key} {value:.0f}" for key, value in counts.items())
            print(f"seed {seed}  {name:9}  {told}")
        first, second = found["fail-fast"], found["staged"]
        for key in ("full", "sound"):
            print(f"seed {seed}  {key}: {first[key] / max(second[key], 1):.2f} times as many")


main()
