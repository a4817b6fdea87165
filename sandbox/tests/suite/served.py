"""Plays programs as a client of a live server: `served.py ADDRESS FILE`.

The file holds a JSON list of programs, each a name and a list of episodes, each of these a list of
scripts. After each program comes an honest episode. Prints what went wrong, as a JSON list.
"""

import asyncio
import json
import sys

import websockets

HONEST = "import numpy\nprint(numpy.arange(5).sum())"


async def ask(socket, kind, **data):
    await socket.send(json.dumps({"type": kind, "data": data}))
    return json.loads(await asyncio.wait_for(socket.recv(), 60))


async def run(socket, code):
    call = {"type": "call_tool", "tool_name": "python", "arguments": {"code": code}}
    return await ask(socket, "step", **call)


async def play(address, program, problems):
    name = program["name"]
    async with websockets.connect(f"ws://{address}/ws", max_size=None) as socket:
        for episode in program["episodes"]:
            await ask(socket, "reset", task="alpha")
            for script in episode:
                answer = await run(socket, script)
                if answer["type"] == "error":
                    problems.append(f"{name}: {answer['data']['message']}")
                    return
        await ask(socket, "reset", task="alpha")
        answer = await run(socket, HONEST)
        text = json.dumps(answer)
        if answer["type"] == "error" or "10" not in answer["data"]["observation"]["result"]:
            problems.append(f"after {name}: {text}")


async def main(address, path):
    with open(path) as file:
        programs = json.load(file)
    waiting, problems = list(reversed(programs)), []

    async def player():
        while waiting:
            program = waiting.pop()
            try:
                await play(address, program, problems)
            except Exception as error:
                problems.append(f"{program['name']}: {type(error).__name__}: {error}")

    await asyncio.gather(*(player() for _ in range(4)))
    print(json.dumps(problems))


asyncio.run(main(*sys.argv[1:]))
