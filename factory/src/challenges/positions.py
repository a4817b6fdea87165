# Answers at every position of a sequence, by RULE: `answers(b)` maps an id to its answers.
import json
import math


def along(form, x):
    n, kind = len(x), form["form"]

    def fade(d):
        return 0.0 if d is None else math.exp(-d / form["reach"])

    def since(x):
        back, out = None, []
        for one in x:
            back = 0 if one == form["symbol"] else None if back is None else back + 1
            out.append(back)
        return out

    if kind == "own":
        return [form["values"][one] for one in x]
    if kind == "motif":
        there = [(place["offset"], set(place["any_of"])) for place in form["places"]]
        fits = lambda i: all(0 <= i + o < n and x[i + o] in s for o, s in there)
        return [float(fits(i)) for i in range(n)]
    if kind == "whole":
        return [1.0] * n
    if kind in ("since", "until", "nearest"):
        back, ahead = since(x), since(x[::-1])[::-1]
        if kind == "nearest":
            both = ([d for d in pair if d is not None] for pair in zip(back, ahead))
            return [fade(min(some, default=None)) for some in both]
        return [fade(d) for d in (back if kind == "since" else ahead)]
    if kind == "start":
        return [fade(i) for i in range(n)]
    if kind == "end":
        return [fade(n - 1 - i) for i in range(n)]
    if kind == "count":
        w = form["window"]
        return [float(x[max(0, i + 1 - w) : i + 1].count(form["symbol"])) for i in range(n)]
    if kind == "echo":
        return [float(i >= form["lag"] and x[i] == x[i - form["lag"]]) for i in range(n)]
    out, run, state, odd, opened = [], 0, 0.0, False, []
    for i, one in enumerate(x):
        if kind == "run":
            run = run + 1 if i and one == x[i - 1] else 1
            out.append(float(min(run, form["most"])))
        elif kind == "state":
            state = 1.0 if one == form["on"] else 0.0 if one == form["off"] else state
            out.append(state)
        elif kind == "toggle":
            odd ^= one == form["symbol"]
            out.append(float(odd))
        else:
            if one == form["open"]:
                opened.append(i)
            if kind == "depth":
                out.append(float(min(len(opened), form["most"])))
            else:
                out.append(fade(i - opened[-1] if opened else None))
            if one == form["close"] and opened:
                opened.pop()
    return out


def answers(b):
    low, high = RULE["range"]
    spaced = any(len(symbol) > 1 for symbol in RULE["symbols"])
    place = {symbol: n for n, symbol in enumerate(RULE["symbols"])}
    found = {}
    for name, cell, number, word in b.iloc[:, :4].itertuples(index=False, name=None):
        x = [place[one] for one in (cell.split(" ") if spaced else cell)]
        z = math.sqrt(12) * ((float(number) - low) / (high - low) - 0.5)
        w = RULE["words"].index(word)
        rows = [[] for _ in x]
        for target in RULE["targets"]:
            sums = [0.0] * len(x)
            for term in target["terms"]:
                by, factor = term["by"], 1
                if by["by"] == "number":
                    factor = 1 + by["slope"] * z
                elif by["by"] == "word":
                    factor = by["factors"][w]
                for i, value in enumerate(along(term["form"], x)):
                    sums[i] += term["weight"] * (value * factor - term["mean"]) / term["spread"]
            answer = target["answer"]
            for row, total in zip(rows, sums):
                if answer["answer"] == "number":
                    value = answer["center"] + answer["scale"] * total
                    row.append(min(max(value, answer["range"][0]), answer["range"][1]))
                else:
                    under = [1 / (1 + math.exp((total - cut) / target["noise"])) for cut in answer["cuts"]]
                    chances = [q - p for p, q in zip([0, *under], [*under, 1])]
                    row.append(answer["classes"][chances.index(max(chances))])
        found.update((f"{name}_{i}", row) for i, row in enumerate(rows, 1))
    return found


