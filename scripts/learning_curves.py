#!/usr/bin/env python3
"""Draws the reward of several runs of `rl train` as an SVG.

    scripts/learning_curves.py OUT.svg 'dense, seed 0=RUN' 'sparse, seed 0=RUN' ...

Left: reward on training tasks, mean of the last eight updates. Right: reward on held-out tasks.
Names that are alike up to a comma share a colour. Standard library only.
"""

import json
import pathlib
import sys
from html import escape

WIDTH, HEIGHT, LEFT, TOP, PANEL, TALL = 860, 330, 46, 34, 360, 250
COLOURS = ["#1f6fb2", "#d1495b", "#3c8d5a", "#8a5fb0", "#b0792b"]
WINDOW = 8


def curves(run):
    """Steps and rewards of a run: training, held out."""
    path = pathlib.Path(run) / "metrics.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    trained = [(line["step"], line["reward"]) for line in lines if "reward" in line]
    smooth = []
    for index, (step, _) in enumerate(trained):
        window = [reward for _, reward in trained[max(0, index + 1 - WINDOW) : index + 1]]
        smooth.append((step, sum(window) / len(window)))
    held_out = [(line["step"], line["validation"]["reward"]) for line in lines if line.get("validation")]
    return smooth, held_out


def panel(x, title, named, low, high, last):
    def at(step, reward):
        across = x + PANEL * step / last
        up = TOP + TALL * (high - reward) / (high - low)
        return f"{across:.1f},{up:.1f}"

    parts = [f'<text x="{x}" y="{TOP - 12}" font-weight="bold">{escape(title)}</text>']
    ticks = range(round(low * 20), round(high * 20) + 1)
    for tick in (tick / 20 for tick in ticks):
        y = at(0, tick).split(",")[1]
        parts.append(f'<path d="M{x} {y}h{PANEL}" stroke="#ddd"/>')
        parts.append(f'<text x="{x - 6}" y="{y}" dy="4" text-anchor="end">{tick:.2f}</text>')
    for step in range(0, last + 1, 16):
        across = at(step, low).split(",")[0]
        parts.append(f'<text x="{across}" y="{TOP + TALL + 16}" text-anchor="middle">{step}</text>')
    for colour, points, marked in named:
        line = " ".join(at(*point) for point in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.8"/>')
        for point in points if marked else []:
            cx, cy = at(*point).split(",")
            parts.append(f'<circle cx="{cx}" cy="{cy}" r="3" fill="{colour}"/>')
    return parts


def main():
    if len(sys.argv) < 3 or any("=" not in argument for argument in sys.argv[2:]):
        sys.exit(__doc__)
    runs = [argument.split("=", 1) for argument in sys.argv[2:]]
    kinds = list(dict.fromkeys(name.split(",")[0] for name, _ in runs))
    colour = {kind: COLOURS[index % len(COLOURS)] for index, kind in enumerate(kinds)}
    found = [(colour[name.split(",")[0]], *curves(run)) for name, run in runs]
    rewards = [reward for _, *both in found for points in both for _, reward in points]
    low, high = int(min(rewards) * 20) / 20, -int(-max(rewards) * 20 - 1) / 20
    last = max(step for _, *both in found for points in both for step, _ in points)
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
            'font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="#fff"/>'
        )
    ]
    training = [(colour, trained, False) for colour, trained, _ in found]
    parts += panel(LEFT, f"training tasks, mean of {WINDOW} updates", training, low, high, last)
    held_out = [(colour, points, True) for colour, _, points in found]
    parts += panel(LEFT * 2 + PANEL, "held-out tasks", held_out, low, high, last)
    for index, kind in enumerate(kinds):
        x, y = LEFT + index * 200, HEIGHT - 12
        parts.append(f'<rect x="{x}" y="{y - 9}" width="14" height="10" fill="{colour[kind]}"/>')
        parts.append(f'<text x="{x + 20}" y="{y}">{escape(kind)}</text>')
    pathlib.Path(sys.argv[1]).write_text("\n".join([*parts, "</svg>"]) + "\n")


main()
