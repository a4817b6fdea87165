"""Writes the tasks of `sandbox serve` as rows of data, for the trainers and harnesses beside this file.

    python examples/rows.py http://127.0.0.1:8765 rows.jsonl [--split train] [--style tools]

Needs Python alone. One row has the columns that TRL, verifiers, Inspect, NeMo Gym, SkyRL and verl look for.
"""

import argparse
import json
import re
import sys
import urllib.error
import urllib.request

RULES = """Solve a machine learning task with Python. Scripts find the task's files in `input/` and write \
`submission.csv`."""
TURNS = """ Think first, between <think> and </think>; then call one tool per turn. To run a script:
<tool_call>
python
<code>
print(1)
</code>
</tool_call>
To grade the present submission: <tool_call>{"name": "Score"}</tool_call>
To hand it in, which ends the episode: <answer>submission</answer>"""
# What opens an episode: `tools` for models whose calls the framework reads, `turns` for models that write
# calls into their text, `brief` for the policies of `rl sft --model tiny`.
STYLES = {"tools": RULES, "turns": RULES + TURNS, "brief": "Solve the task with Python."}
TOOLS = {
    "python": ("Runs a Python script in the folder of the episode.", {"code": "The script."}),
    "score": ("Grades the present submission on some of the rows.", {}),
    "submit": ("Hands in the present submission, which ends the episode.", {}),
}


def function(name):
    about, arguments = TOOLS[name]
    properties = {key: {"type": "string", "description": text} for key, text in arguments.items()}
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    schema["additionalProperties"] = False
    return {"type": "function", "name": name, "description": about, "parameters": schema, "strict": True}


def brief(page):
    """The list `At a glance`, as `rl sft` writes it for tiny policies."""
    facts = dict(re.findall(r"^- (Task|Data|Target|Metric): (.+)$", page, re.MULTILINE))
    if not facts.keys() >= {"Task", "Target", "Metric"}:
        sys.exit("error: a task's page has no list `At a glance`; use another style")
    kind = facts["Target"].rsplit("(", 1)[1].rstrip(")")
    facts = {"Task": facts["Task"], "Data": facts.get("Data"), "Predict": kind, "Metric": facts["Metric"]}
    return "\n".join(f"{key}: {value}" for key, value in facts.items() if value)


def row(task, style):
    page = task["description"]
    prompt = [
        {"role": "system", "content": STYLES[style]},
        {"role": "user", "content": brief(page) if style == "brief" else page},
    ]
    about = {"task": task["task"], "split": task["split"]}
    request = {"input": prompt, "tools": [function(name) for name in TOOLS]}
    rule = {"style": "rule", "method": "rule", "ground_truth": None}
    columns = {"prompt": prompt, "extra_info": about, "responses_create_params": request}
    columns |= dict.fromkeys(("data_source", "env_class", "agent_name"), "sandbox")
    return about | columns | dict.fromkeys(("reward_spec", "reward_model"), rule)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("out")
    parser.add_argument("--split", default="train")
    parser.add_argument("--style", choices=STYLES, default="tools")
    options = parser.parse_args()
    body = json.dumps({"split": options.split, "start": None, "stop": None}).encode()
    request = urllib.request.Request(
        f"{options.url}/sandbox/task_range", body, {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request) as answer:
            tasks = json.load(answer)["tasks"]
    except urllib.error.HTTPError as error:
        sys.exit(f"error: {options.url} answers {error.code}: {error.read().decode()}")
    except urllib.error.URLError as error:
        sys.exit(f"error: {options.url} does not answer: {error.reason}")
    with open(options.out, "w") as file:
        file.writelines(json.dumps(row(task, options.style)) + "\n" for task in tasks)


if __name__ == "__main__":
    main()
