# Makes training data from the raw data, as PLAN says, without any model.
import csv
import itertools
import json
import random
import re
import sys

DEBUG = "--debug" in sys.argv
# Samples that a debug run writes.
FEW = 100
filters = []
raw = 0


def keep(name, rows, test):
    kept = [row for row in rows if test(row)]
    filters.append({"name": name, "seen": len(rows), "kept": len(kept)})
    return kept


def read_lines(path):
    global raw
    with open(path, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    raw += len(rows)
    return rows


def ending(answer):
    # The answer in the form that the task's scorer reads.
    return {"boxed": f"\\boxed{{{answer}}}", "final": f"Final Answer: {answer}"}[PLAN["form"]]


def sample(question, steps, end):
    return {"instruction": question, "system": PLAN["system"], "output": f"{steps}\n{end}"}


def mathematics(subset):
    with_steps = lambda row: len(row["solution"].split()) >= PLAN["reasoning_words"]
    rows = keep("has a solution", read_lines("data/mathematics/problems.jsonl"), with_steps)
    return [sample(row["problem"], row["solution"], ending(row["answer"])) for row in rows]


def in_lines(table):
    rows = [table["columns"]] + table["data"]
    return "\n".join(" | ".join(str(cell) for cell in row) for row in rows)


def tables(subset):
    rows = read_lines("data/tables/questions.jsonl")
    # The part that is asked for is no filter: nothing of it is dropped.
    rows = [row for row in rows if row["qtype"] == subset]
    question = lambda row: f"{in_lines(row['table'])}\n\n{row['question']}"
    if PLAN["form"] == "program":
        return [
            {"instruction": question(row), "system": PLAN["system"], "output": row["response"]}
            for row in keep("is a program", rows, lambda row: row["response"].startswith("```python"))
        ]
    rows = keep("reasons in words", rows, lambda row: row["instruction_type"] == "TCoT")
    found = []
    for row in rows:
        steps, _, answer = row["response"].rpartition("\nFinal Answer: ")
        found.append(sample(question(row), steps, ending(answer)))
    return keep("has steps", found, lambda it: len(it["output"].split()) > PLAN["reasoning_words"] + 3)


# Sums of up to three numbers, and how they are written.
SUMS = [
    ("{a} * {b} / 100", lambda a, b: a * b / 100),
    ("{a} / {b}", lambda a, b: a / b),
    ("{a} / {b} * 100", lambda a, b: a / b * 100),
    ("({a} - {b}) / {a} * 100", lambda a, b: (a - b) / a * 100),
    ("{a} * {b} * {c} / 100", lambda a, b, c: a * b * c / 100),
    ("({a} - {b}) / {c}", lambda a, b, c: (a - b) / c),
    ("({a} - {b}) * {c}", lambda a, b, c: (a - b) * c),
    ("({a} - {b}) * {c} / 100", lambda a, b, c: (a - b) * c / 100),
    ("{a} - {a} * {b} * {c} / 36000", lambda a, b, c: a - a * b * c / 36000),
    ("{a} / (1 + {b} / 100)^{c}", lambda a, b, c: a / (1 + b / 100) ** c),
    ("{a} * (1 + {b} / 100)^{c}", lambda a, b, c: a * (1 + b / 100) ** c),
    ("{a} * (1 + {b} * {c} / 100)", lambda a, b, c: a * (1 + b * c / 100)),
]


def worked(row):
    # A sum of the question's numbers that makes the right option and no other one.
    numbers = [float(number) for number in re.findall(r"\d+(?:\.\d+)?", row["Question"])]
    try:
        options = {letter: float(row[letter]) for letter in "ABCD"}
    except ValueError:
        return None
    right = options[row["Answer"]]
    for text, value in SUMS:
        count = value.__code__.co_argcount
        for chosen in itertools.permutations(numbers[:4], count):
            try:
                found = value(*chosen)
            except (ZeroDivisionError, OverflowError):
                continue
            if abs(found - right) < 0.006:
                return text.format(**dict(zip("abc", (f"{number:g}" for number in chosen))))
    return None


def finance(subset):
    global raw
    rows = []
    for exam in PLAN["exams"]:
        with open(f"data/finance/{exam}", encoding="utf-8", newline="") as file:
            rows.extend(csv.DictReader(file))
    raw += len(rows)
    pairs = keep("is worked out", [(row, worked(row)) for row in rows], lambda pair: pair[1])
    found = []
    for row, steps in pairs:
        options = "\n".join(f"{letter}. {row[letter]}" for letter in "ABCD")
        found.append({
            "instruction": f"{row['Question']}\n{options}",
            "system": PLAN["system"],
            "output": f"{steps}. Answer: {row['Answer']}",
        })
    return found


def ordered(samples, rule, stream):
    stream.shuffle(samples)
    if rule == "difficulty":
        return sorted(samples, key=lambda it: -len(it["output"].split()))
    if rule == "quality":
        return samples
    # Diversity: one of each beginning in turn.
    groups = {}
    for it in samples:
        groups.setdefault(" ".join(it["instruction"].split()[:3]), []).append(it)
    rounds = itertools.zip_longest(*groups.values())
    return [it for row in rounds for it in row if it is not None]


def unseen(samples):
    seen = set()
    is_new = lambda it: it["instruction"] not in seen and not seen.add(it["instruction"])
    return keep("was not there before", samples, is_new)


SOURCES = {"mathematics": mathematics, "tables": tables, "finance": finance}
stream = random.Random(PLAN["seed"])
chosen = []
for part in PLAN["sources"]:
    samples = unseen(SOURCES[part["source"]](part.get("subset")))
    if PLAN["most_words"] is not None:
        short = lambda it: len(it["output"].split()) <= PLAN["most_words"]
        samples = keep("is short", samples, short)
    samples = ordered(samples, PLAN["sampling"], stream)
    chosen += samples[: max(1, round(part["share"] * PLAN["target"]))]
stream.shuffle(chosen)
estimate = len(chosen)
if DEBUG:
    chosen = chosen[:FEW]
with open("data.json", "w", encoding="utf-8") as file:
    json.dump(chosen, file, ensure_ascii=False, indent=1)
summary = {
    "raw": raw, "sampled": raw, "filters": filters, "written": len(chosen), "estimate": estimate,
}
print("SUMMARY " + json.dumps(summary))
