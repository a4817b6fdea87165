"""WebShop's reward of a purchase, over exact words: a purchase as JSON a line in, the reward out."""

import json
import sys

TYPE_WORDS = 0.2


def words(text):
    return "".join(c if c.isalnum() else " " for c in text.lower()).split()


def kind(goal, bought):
    wanted = words(goal["title"])
    shared = set(wanted) & set(words(bought["title"]))
    title = len(shared) / len(wanted) if wanted else TYPE_WORDS
    if title == 0:
        return 0.0
    if title < 0.1:
        return 0.1
    if goal["category"] == bought["category"] or title > TYPE_WORDS:
        return 1.0
    return 0.5


for line in sys.stdin:
    case = json.loads(line)
    target, goal, bought = case["target"], case["goal"], case["bought"]
    text = " ".join([bought["title"], bought["category"], bought["description"], *bought["features"]])
    text = set(words(text))
    hits = 0
    for attribute in goal["attributes"]:
        hits += attribute in bought["attributes"] or set(words(attribute)) <= text
    for name, value in goal["options"].items():
        hits += case["options"].get(name) == value
    hits += bought["cents"] <= goal["limit"]
    parts = len(goal["attributes"]) + len(goal["options"]) + 1
    factor = kind(target, bought)
    print(json.dumps({"factor": factor, "reward": factor * hits / parts}))
