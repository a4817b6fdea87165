#!/usr/bin/env python3
"""Writes what the example fine-tunes on: `make_data.py FOLDER`.

FOLDER/data/items.jsonl         four examples with answers, 200 orders to score on
FOLDER/data/orders/rows.jsonl   raw data: orders with answers, a tenth of them twice, some without one
FOLDER/data/letters/rows.jsonl  raw data that does not help
FOLDER/base.jsonl               text for a base model that has never seen an answer
"""

import json
import random
import sys
from pathlib import Path

PRODUCTS = (
    "nails screws bolts hinges brushes ladders buckets hammers saws drills tiles bricks beams pipes "
    "valves cables lamps fuses sockets plugs ropes hooks chains wheels tyres pumps hoses filters "
    "gloves helmets boots aprons tapes glues paints rollers"
).split()
WORDINGS = [
    "Please send us {count} {product} at {price} euros each.",
    "We need {count} {product}. We pay {price} euros for one.",
    "{price} euros is our price for one of the {product}, and {count} are wanted.",
    "Put {count} {product} on our list, {price} euros a piece.",
    "The {product} cost {price} euros each and {count} will do.",
]


def order(rng):
    truth = {"product": rng.choice(PRODUCTS), "count": rng.randint(2, 99), "price": rng.randint(1, 99)}
    return rng.choice(WORDINGS).format(**truth), truth


def answer(truth):
    return f"The count is {truth['count']} and the price is {truth['price']}.\n{json.dumps(truth)}"


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def main():
    folder, rng = Path(sys.argv[1]), random.Random(0)
    drawn = {}
    while len(drawn) < 2400:
        prompt, truth = order(rng)
        drawn.setdefault(prompt, truth)
    orders = list(drawn.items())
    items = [{"prompt": prompt, "truth": truth} for prompt, truth in orders[:204]]
    for item in items[:4]:
        item["answer"] = answer(item["truth"])
    rows = [{"prompt": prompt, "completion": answer(truth)} for prompt, truth in orders[204:1404]]
    rows += rng.sample(rows, 120) + [
        {"prompt": row["prompt"], "completion": ""} for row in rng.sample(rows, 60)
    ]
    rng.shuffle(rows)
    letters = [{"text": f"Thank you for the {rng.choice(PRODUCTS)}."} for _ in range(200)]
    # Every word that answers have, in an order that no answer has.
    text = [
        {"text": f"{prompt} {rng.choice(answer(order(rng)[1]).splitlines())}"} for prompt, _ in orders[1404:]
    ]
    write(folder / "data" / "items.jsonl", items)
    write(folder / "data" / "orders" / "rows.jsonl", rows)
    write(folder / "data" / "letters" / "rows.jsonl", letters)
    write(folder / "base.jsonl", text)


if __name__ == "__main__":
    main()
