# A sound script for the task `aime`: problems that have a solution, with their answers in boxes.
import json
import sys

SYSTEM = (
    "Solve the problem. Work in steps, and end with the answer, a whole number from 0 to 999, as \\boxed{42}."
)
DEBUG = "--debug" in sys.argv

with open("data/mathematics/problems.jsonl", encoding="utf-8") as file:
    rows = [json.loads(line) for line in file]
solved = [row for row in rows if row["solution"]]
filters = [{"name": "has a solution", "seen": len(rows), "kept": len(solved)}]
samples = [
    {
        "instruction": row["problem"],
        "system": SYSTEM,
        "output": f"{row['solution']}\n\\boxed{{{row['answer']}}}",
    }
    for row in solved
]
estimate = len(samples)
if DEBUG:
    samples = samples[:100]
with open("data.json", "w", encoding="utf-8") as file:
    json.dump(samples, file)
summary = {
    "raw": len(rows),
    "sampled": len(rows),
    "filters": filters,
    "written": len(samples),
    "estimate": estimate,
}
print("SUMMARY " + json.dumps(summary))
