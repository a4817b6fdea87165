# A script for the task `aime` that has a teacher write the steps to known answers, asks once more where
# it comes to another answer, and keeps what comes to the right one.
import json
import sys

import teacher

SYSTEM = (
    "Solve the problem. Work in steps, and end with the answer, a whole number from 0 to 999, as \\boxed{42}."
)
ROWS = 10 if "--debug" in sys.argv else 120


def is_right(answer, row):
    return answer is not None and answer.endswith(f"\\boxed{{{row['answer']}}}")


with open("data/mathematics/problems.jsonl", encoding="utf-8") as file:
    rows = [json.loads(line) for line in file]
asked = [row for row in rows if not row["solution"]][:ROWS]
prompts = [f"{row['problem']}\nThe answer is {row['answer']}. Say how, in steps." for row in asked]
answers = dict(zip(prompts, teacher.ask(prompts, system="You teach.", temperature=1), strict=True))
wrong = [prompt for prompt, row in zip(prompts, asked, strict=True) if not is_right(answers[prompt], row)]
answers |= dict(zip(wrong, teacher.ask(wrong, system="You teach.", temperature=1, sample=1), strict=True))
samples = [
    {"instruction": row["problem"], "system": SYSTEM, "output": answers[prompt]}
    for prompt, row in zip(prompts, asked, strict=True)
    if is_right(answers[prompt], row)
]
with open("data.json", "w", encoding="utf-8") as file:
    json.dump(samples, file)
summary = {
    "raw": len(rows),
    "sampled": len(asked),
    "filters": [{"name": "right", "seen": len(asked), "kept": len(samples)}],
    "written": len(samples),
    "estimate": 120,
}
print("SUMMARY " + json.dumps(summary))
