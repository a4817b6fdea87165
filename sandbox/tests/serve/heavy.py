"""Sessions that submit files as large as may be and have all of them scored at once:
`heavy.py ADDRESS COUNT`. Prints what each was answered, as a JSON list."""

import asyncio
import json
import sys

import websockets

# After a right header: rows of nothing, one field too long, a header of commas, and rows that
# repeat. 63 MiB each.
SHAPES = [
    "'id,y\\n' + ',\\n' * (63 << 19)",
    "'id,y\\nr0,' + '1' * (63 << 20) + '\\n'",
    "',' * (63 << 20)",
    "'id,y\\n' + 'r0,1\\n' * ((63 << 20) // 5)",
    "'id,y\\n\"' + 'x' * (63 << 20)",
]


async def ask(socket, kind, **data):
    await socket.send(json.dumps({"type": kind, "data": data}))
    return json.loads(await asyncio.wait_for(socket.recv(), 300))


async def play(address, number, ready, go):
    async with websockets.connect(f"ws://{address}/ws", max_size=None, ping_timeout=300) as socket:
        await ask(socket, "reset", task="alpha")
        code = f"open('submission.csv', 'w').write({SHAPES[number % len(SHAPES)]})"
        call = {"type": "call_tool", "tool_name": "python", "arguments": {"code": code}}
        written = await ask(socket, "step", **call)
        ready.append(number)
        await go.wait()
        answers = [written]
        for _ in range(2):
            answers.append(await ask(socket, "step", type="call_tool", tool_name="score", arguments={}))
        return [answer["data"].get("observation", answer["data"]).get("result") for answer in answers]


async def main(address, count):
    ready, go = [], asyncio.Event()
    sessions = [asyncio.create_task(play(address, n, ready, go)) for n in range(int(count))]
    while len(ready) < int(count) and not any(session.done() for session in sessions):
        await asyncio.sleep(0.05)
    go.set()
    print(json.dumps(await asyncio.gather(*sessions)))


asyncio.run(main(*sys.argv[1:]))
