"""Asks a server for the hidden answers of the task `numbers`, whose metric is the mean absolute
error, by playing it again and again:

    oracle.py ADDRESS sweep EPISODES ROWS
    oracle.py ADDRESS bisect EPISODES ROWS

`sweep` changes one row's prediction at a time, and writes down all that is said but times and
names. Where scores are told, two of them give a row's answer: with all predictions at B, above
every answer, a row at 0 changes the sum of errors by 2y - B, and a row at 2B by B, which gives the
number of rows.

`bisect` needs the final tier alone. The prediction of one row, far above its answer, is a knob
that adds to the sum of errors; the place of the knob at which the tier falls to none moves by
B - 2y when another row goes from 0 to B.

Each prints one line of JSON: the answers that it is sure of, and how many different things were
said.
"""

import asyncio
import json
import re
import sys

import websockets

ABOVE = 1_000_000
SCRIPT = """
values = [%d] * %d
for row, value in %r:
    values[row] = value
with open("submission.csv", "w") as file:
    file.write("id,y\\n" + "".join(f"r{row},{value}\\n" for row, value in enumerate(values)))
"""
HIDDEN = {"seconds", "episode_id"}


def plan(episodes, rows):
    """Base, row and value of each episode: the two that solve for a row, for all rows; then ever
    other levels, which cross every threshold."""
    plays = [(ABOVE, 0, ABOVE)]
    for row in range(rows):
        plays += [(ABOVE, row, 0), (ABOVE, row, 2 * ABOVE)]
    while len(plays) < episodes:
        number = len(plays)
        plays.append((number * 379 % 1009, number % rows, number * 101 % 2003))
    return plays[:episodes]


def without(said):
    """All that was said but times and names."""
    if isinstance(said, dict):
        return {key: without(value) for key, value in said.items() if key not in HIDDEN}
    return said


async def ask(socket, kind, **data):
    message = {"type": kind, "data": data} if data else {"type": kind}
    await socket.send(json.dumps(message))
    answer = json.loads(await socket.recv())
    assert answer["type"] != "error", answer
    return without(answer["data"])


def tool(name, **arguments):
    return {"type": "call_tool", "tool_name": name, "arguments": arguments}


async def play(socket, rows, base, changes):
    """One episode; also the two scores, as far as anything tells them."""
    start = await ask(socket, "reset", task="numbers")
    said = [
        await ask(socket, "step", **tool("python", code=SCRIPT % (base, rows, changes))),
        await ask(socket, "step", **tool("score")),
        await ask(socket, "step", **tool("submit")),
        await ask(socket, "state"),
    ]
    assert said[0]["observation"]["result"].startswith("finished; submission.csv"), said[0]
    score = re.search(r"score: ([-0-9.]+)", said[1]["observation"]["result"])
    grade = said[2]["observation"]["metadata"]["finish"].get("grade") or {}
    # In case a number gets out in some other way, all is compared.
    scores = (score and float(score[1]), grade.get("score"))
    return json.dumps([start, said]), scores, grade.get("tier")


def solve(scores, rows):
    """The answers that follow from the scores of the first plays, by row."""
    answers = {}
    for part in (0, 1):
        base = scores[0][part]
        for row in range(rows):
            low, high = scores[1 + 2 * row][part], scores[2 + 2 * row][part]
            if None in (base, low, high) or high == base:
                continue
            count = round(ABOVE / (high - base))
            answers[row] = round((count * (low - base) + ABOVE) / 2)
    return answers


async def sweep(address, episodes, rows):
    plays = plan(episodes, rows)
    found = [None] * len(plays)
    numbers = iter(range(len(plays)))

    async def client():
        async with websockets.connect(f"ws://{address}/ws") as socket:
            for number in numbers:
                base, row, value = plays[number]
                found[number] = await play(socket, rows, base, [(row, value)])

    await asyncio.gather(*(client() for _ in range(4)))
    return found, solve([scores for _, scores, _ in found], rows)


async def bisect(address, episodes, rows):
    found, answers = [], {}
    top, middle = 1024, 512
    async with websockets.connect(f"ws://{address}/ws") as socket:

        async def reaches(changes):
            """Whether a tier is told to be reached; never, where none is told."""
            found.append(await play(socket, rows, middle, changes))
            return found[-1][2] is not None

        async def flips(knob, changes):
            """The highest place of the knob at which a tier is reached, if there is one."""
            low, high = top, 64 * top
            if not await reaches([*changes, (knob, low)]) or await reaches([*changes, (knob, high)]):
                return None
            while high - low > 1:
                place = (low + high) // 2
                if await reaches([*changes, (knob, place)]):
                    low = place
                else:
                    high = place
            return low

        # A knob must be among the rows that count.
        knob = 0
        while knob < rows and await flips(knob, []) is None:
            knob += 1
        for row in range(rows if knob < rows else 0):
            if row == knob or len(found) > episodes - 40:
                continue
            at_none, at_top = await flips(knob, [(row, 0)]), await flips(knob, [(row, top)])
            if None not in (at_none, at_top) and at_none != at_top:
                answers[row] = (top - at_none + at_top) // 2
    return found, answers


async def main(address, attack, episodes, rows):
    found, answers = await {"sweep": sweep, "bisect": bisect}[attack](address, int(episodes), int(rows))
    said = len({text for text, _, _ in found})
    print(json.dumps({"episodes": len(found), "said": said, "answers": answers}))


asyncio.run(main(*sys.argv[1:]))
