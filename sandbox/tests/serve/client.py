"""Clients of the environment server: `client.py ADDRESS SCENARIO [ARGUMENT ...]`.

The honest ones are OpenEnv's own (openenv-core 0.3.0); the worse ones speak WebSocket or TCP
themselves. Each scenario prints one line of JSON, and the words that a test waits for before it.
"""

import asyncio
import json
import socket
import sys
import urllib.request

import lean  # noqa: F401 - before OpenEnv
import websockets
from openenv.core.env_server.mcp_types import CallToolAction
from openenv.core.generic_client import GenericEnvClient
from openenv.core.mcp_client import MCPToolClient

SUBMIT = """
rows = [line.split(",") for line in open("input/test.csv").read().split()[1:]]
with open("submission.csv", "w") as file:
    file.write("id,y\\n" + "".join(f"{id},{%s}\\n" for id, x in rows))
print("wrote", len(rows))
"""
GOOD = SUBMIT % "int(x) % 2"
CONSTANT = SUBMIT % "0.5"


def url(address):
    return f"http://{address}"


def say(word):
    print(word, flush=True)


async def call(client, tool, **arguments):
    return await client.step(CallToolAction(tool_name=tool, arguments=arguments))


async def episode(address, number, start_line=None):
    """A whole episode: what was seen of it. With a start line, it begins with others at once."""
    async with MCPToolClient(url(address)) as client:
        before = await client.state()
        start = await client.reset(seed=number, episode_id=f"episode-{number}")
        if start_line:
            await start_line.wait()
        tools = await client.list_tools()
        steps = [
            await call(client, "score"),
            await call(client, "python", code=CONSTANT),
            await call(client, "score"),
            await call(client, "python", code=GOOD),
            await call(client, "score"),
            await call(client, "submit"),
        ]
        state = await client.state()
    return {
        "before": [before.episode_id, before.step_count],
        "task": start.observation.metadata["task"],
        "description": start.observation.metadata["description"],
        "tools": [tool.name for tool in tools],
        "results": [step.observation.result for step in steps],
        "rewards": [step.reward for step in steps],
        "done": [step.done for step in steps],
        "finish": steps[-1].observation.metadata["finish"],
        "state": [state.episode_id, state.step_count],
    }


async def play(address, count):
    return await asyncio.gather(*(episode(address, number) for number in range(int(count))))


async def generic(address):
    """The client without tools of its own, and the mistakes that an agent or a trainer makes."""
    said = {}
    async with GenericEnvClient(url(address)) as client:

        async def refused(name, coroutine):
            try:
                await coroutine
                said[name] = "accepted"
            except RuntimeError as error:
                said[name] = str(error)

        await refused("early", client.step({"type": "call_tool", "tool_name": "score"}))
        await refused("unknown task", client.reset(task="omega"))
        await refused("two tasks", client.reset(task="beta", task_id="alpha"))
        start = await client.reset(task_id="beta", prompt=[], sed=3)
        said["task"], said["ignored"] = start.observation["task"], start.observation["ignored"]
        await refused("no action", client.step({"script": "1"}))
        step = await client.step({"code": "print('short')"})
        said["short"] = step.observation["result"]
        step = await client.step({"type": "call_tool", "tool_name": "bash", "arguments": {}})
        said["unknown tool"] = [step.observation["error"], step.observation["result"]]
        step = await client.step({"type": "call_tool", "tool_name": "python", "arguments": {}})
        said["no code"] = step.observation["error"]
        step = await client.step(
            {"type": "call_tool", "tool_name": "python", "arguments": {"code": "print('x' * 9000)"}}
        )
        said["long"] = step.observation["result"]
        # The last turn that the budget allows.
        step = await client.step({"type": "call_tool", "tool_name": "score", "arguments": {}})
        said["last"] = [step.done, step.reward, step.observation["result"]]
        said["state"] = await client.state()
        await refused("late", client.step({"type": "call_tool", "tool_name": "score"}))
        again = await client.reset(task="gamma")
        said["again"] = again.observation["task"]
    return said


async def draws(address):
    """The tasks that come by seed and in turn, and by what else a reset may say."""
    said = {}
    async with GenericEnvClient(url(address)) as client:

        async def task(**arguments):
            return (await client.reset(**arguments)).observation["task"]

        async def refusal(**arguments):
            try:
                return await task(**arguments)
            except RuntimeError as error:
                return str(error)

        try:
            turns = [await task() for _ in range(6)]
            said["drawn"] = sorted({*turns, *[await task(seed=seed) for seed in range(12)]})
        except RuntimeError as error:
            said["drawn"] = str(error)
        said["named"] = await task(task_id="beta")
        said["of split"] = [await task(split="val", **more) for more in ({}, {"seed": 3}, {"index": 0})]
        row = {"task": "gamma", "split": "train", "index": 1, "description": "odd or even?"}
        if (start := await refusal(**row)) == "gamma":
            start = (await client.reset(**row)).observation
            said["row"] = [start["task"], sorted(start["ignored"]), start["split"]]
        said["wrong split"] = await refusal(task="beta", split="train")
        said["no split"] = await refusal(split="test")
        said["no index"] = await refusal(split="train", index=2)
    return said


async def capacity(address):
    """Two places, three clients."""
    first, second, third = (MCPToolClient(url(address)) for _ in range(3))
    await first.reset()
    await second.reset()
    try:
        await third.reset()
        refusal = "accepted"
    except RuntimeError as error:
        refusal = str(error)
    await third.close()
    await first.close()
    for _ in range(100):
        try:
            await third.reset()
            break
        except (RuntimeError, websockets.ConnectionClosed):
            await third.close()
            await asyncio.sleep(0.1)
    state = await third.state()
    for client in (second, third):
        await client.close()
    return {"refusal": refusal, "then": state.step_count}


async def busy(address):
    """One place to run, two that want it."""
    async with MCPToolClient(url(address)) as slow, MCPToolClient(url(address)) as quick:
        await slow.reset(task="alpha")
        await quick.reset(task="beta")
        long = asyncio.create_task(call(slow, "python", code="import time; time.sleep(4)"))
        await asyncio.sleep(1)
        step = await call(quick, "python", code="print(1)")
        error = step.observation.error
        turns = (await quick.state()).step_count
        await long
        after = await call(quick, "python", code="print(1)")
    return {"error": error.error_type.value, "turns": turns, "after": after.observation.result}


async def session(address):
    """An episode whose scripts build on each other."""
    async with MCPToolClient(url(address)) as client:
        start = await client.reset(task="alpha")
        tools = await client.list_tools()
        first = await call(client, "python", code=CONSTANT + "x = len(rows)\nx")
        second = await call(client, "python", code="x + 2")
        await call(client, "python", code="exit()")
        third = await call(client, "python", code="x + 2")
        last = await call(client, "submit")
    return {
        "mode": start.observation.metadata["mode"],
        "tool": tools[0].description,
        "results": [step.observation.result for step in (first, second, third)],
        "finish": last.observation.metadata["finish"],
    }


async def pings(address):
    """A client that wants its pings answered while a step is in flight."""
    async with websockets.connect(f"ws://{address}/ws", ping_interval=0.2, ping_timeout=2) as socket:
        await socket.send(json.dumps({"type": "reset", "data": {}}))
        await socket.recv()
        arguments = {"code": "import time; time.sleep(5); print('slept')"}
        step = {"type": "call_tool", "tool_name": "python", "arguments": arguments}
        await socket.send(json.dumps({"type": "step", "data": step}))
        answer = json.loads(await asyncio.wait_for(socket.recv(), 40))
    return answer["data"]["observation"]["result"]


async def sleeper(address):
    """Says when its step is in flight, and what came of it."""
    async with MCPToolClient(url(address)) as client:
        await client.reset(task="alpha")
        step = asyncio.create_task(call(client, "python", code="import time; time.sleep(3); print('slept')"))
        await asyncio.sleep(1)
        say("asleep")
        try:
            result = (await step).observation.result
        except websockets.ConnectionClosed as closed:
            return {"closed": closed.rcvd.code if closed.rcvd else None}
        try:
            await client.state()
            return {"result": result, "closed": None}
        except websockets.ConnectionClosed as closed:
            return {"result": result, "closed": closed.rcvd.code}


async def dawdler(address):
    """Does nothing for longer than an episode, and then than a session may have it."""
    async with websockets.connect(f"ws://{address}/ws") as socket:

        async def ask(message):
            await socket.send(message if isinstance(message, str) else json.dumps(message))
            return json.loads(await socket.recv())["data"]

        reset = {"type": "reset", "data": {"task": "alpha"}}
        await ask(reset)
        await asyncio.sleep(2)
        late = await ask(python("print(1)"))
        again = await ask(reset)
        try:
            await asyncio.wait_for(socket.recv(), 40)
        except websockets.ConnectionClosed as closed:
            return {"late": late, "again": again["observation"]["task"], "closed": closed.rcvd.code}


async def attach(address):
    """One session by requests and by a WebSocket, as OpenEnv's client of version 0.10 plays it."""
    said = {}

    def post(method, **params):
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        request = urllib.request.Request(f"http://{address}/mcp", body)
        with urllib.request.urlopen(request) as answer:
            answer = json.load(answer)
        return answer.get("result") or answer["error"]

    async def rpc(method, **params):
        return await asyncio.to_thread(post, method, **params)

    async def socket_of(session):
        return await websockets.connect(f"ws://{address}/ws?session_id={session}")

    async def ask(socket, message):
        await socket.send(message if isinstance(message, str) else json.dumps(message))
        return json.loads(await socket.recv())["data"]

    async def call(tool, **arguments):
        return await rpc("tools/call", name=tool, arguments=arguments, session_id=session)

    session = (await rpc("openenv/session/create"))["session_id"]
    said["early"] = await call("score")
    first = await socket_of(session)
    await ask(first, {"type": "reset", "data": {"task": "alpha"}})
    said["listed"] = [tool["name"] for tool in (await rpc("tools/list", session_id=session))["tools"]]
    said["called"] = await call("python", code=GOOD)
    said["unknown tool"] = await call("bash")
    said["no code"] = await call("python")
    said["score"] = await call("score")
    second = await socket_of(session)
    said["second"] = await ask(second, {"type": "state"})
    await second.close()
    score = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "score"}}
    said["within"] = await ask(first, {"type": "mcp", "data": score})
    close = {"jsonrpc": "2.0", "id": 3, "method": "openenv/session/close"}
    said["own"] = await ask(first, {"type": "mcp", "data": {**close, "params": {"session_id": session}}})
    # The episode waits for another socket.
    await first.close()
    while True:
        third = await socket_of(session)
        said["state"] = await ask(third, {"type": "state"})
        if "message" not in said["state"]:
            break
        await third.close()
    said["closing"] = await rpc("openenv/session/close", session_id=session)
    said["still"] = (await ask(third, {"type": "state"}))["step_count"]
    await third.close()
    while "closing" in (closed := await rpc("openenv/session/close", session_id=session)):
        await asyncio.sleep(0.05)
    said["closed"] = closed
    gone = await socket_of(session)
    said["gone"] = await ask(gone, {"type": "state"})
    return said


async def waiter(address):
    """Begins an episode and then does nothing."""
    async with websockets.connect(f"ws://{address}/ws") as socket:
        await socket.send(json.dumps({"type": "reset", "data": {"task": "alpha"}}))
        await socket.recv()
        say("waiting")
        try:
            await asyncio.wait_for(socket.recv(), 40)
        except websockets.ConnectionClosed as closed:
            return {"closed": closed.rcvd.code}
    return {"closed": None}


async def connect(address):
    """Whether there is a way in."""
    try:
        async with MCPToolClient(url(address)) as client:
            start = await client.reset(task="alpha")
        return start.observation.metadata["task"]
    except ConnectionError as error:
        return str(error)


async def quick(address):
    """What a short script prints."""
    async with MCPToolClient(url(address)) as client:
        await client.reset(task="beta")
        return (await call(client, "python", code="print(1)")).observation.result


async def page(address):
    """As a page in a browser would connect."""
    try:
        async with websockets.connect(f"ws://{address}/ws", origin="http://evil.example") as socket:
            await socket.send("{}")
            return "accepted"
    except websockets.InvalidStatus as error:
        return error.response.status_code


# --- clients of the worse sort --------------------------------------------------------------------


async def begin(address):
    socket = await websockets.connect(f"ws://{address}/ws", max_size=None)
    await socket.send(json.dumps({"type": "reset", "data": {"task": "alpha"}}))
    await socket.recv()
    return socket


def python(code):
    step = {"type": "call_tool", "tool_name": "python", "arguments": {"code": code}}
    return json.dumps({"type": "step", "data": step})


async def vanish(address):
    """Gone in the middle of a step, without a word."""
    socket = await begin(address)
    await socket.send(python("import time; time.sleep(1)"))
    socket.transport.abort()


async def gone(address, how):
    """Gone in the middle of a long step, in one of the ways to go."""
    socket = await begin(address)
    await socket.send(python("import os, time\nos.fork()\ntime.sleep(25)"))
    say("begun")
    await asyncio.to_thread(sys.stdin.readline)
    if how == "reset":
        socket.transport.abort()
    elif how == "end":
        socket.transport.write_eof()
    elif how == "frame":
        await asyncio.wait_for(socket.close(1000), 20)
    elif how == "close":
        # As OpenEnv's client does.
        await socket.send(json.dumps({"type": "close"}))
        await asyncio.wait_for(socket.close(), 20)
    elif how == "oversized":
        await socket.send("x" * 4_000_000)
    say("gone")
    await asyncio.to_thread(sys.stdin.readline)
    return how


async def endless(address, count):
    """As many resets as there may be, and more."""
    refusals = []
    async with websockets.connect(f"ws://{address}/ws") as socket:

        async def ask(message):
            await socket.send(message if isinstance(message, str) else json.dumps(message))
            return json.loads(await socket.recv())

        async def reset(task):
            return await ask({"type": "reset", "data": {"task": task}})

        for _ in range(int(count)):
            assert (await reset("alpha"))["type"] == "observation"
        for _ in range(2):
            refusals.append((await reset("alpha"))["data"])
        # The episode that was begun last goes on.
        step = await ask(python("print(1)"))
        other = await reset("beta")
    # Another connection is no other client.
    async with websockets.connect(f"ws://{address}/ws") as socket:
        refusals.append((await reset("alpha"))["data"])
    return {"refusals": refusals, "step": step["data"], "other": other["type"]}


async def full_records(address):
    """Episode after episode, each with more code than a record takes, until there is no room."""
    told, refusal = [], None
    async with websockets.connect(f"ws://{address}/ws") as socket:

        async def ask(message):
            await socket.send(message if isinstance(message, str) else json.dumps(message))
            return json.loads(await socket.recv())

        for _ in range(20):
            start = await ask({"type": "reset", "data": {"task": "alpha"}})
            if start["type"] == "error":
                refusal = start["data"]
                break
            code = "# " + "x" * 40_000 + "\nopen('submission.csv', 'w').write('id,y')"
            steps = [await ask(python(code)) for _ in range(3)]
            submit = {"type": "call_tool", "tool_name": "submit"}
            steps.append(await ask({"type": "step", "data": submit}))
            told.append([step["data"] for step in steps])
    return {"told": told, "refusal": refusal}


async def flood(address):
    """Message after message, and no answer read."""
    socket = await begin(address)
    socket.transport.pause_reading()
    try:
        for _ in range(20_000):
            await asyncio.wait_for(socket.send(json.dumps({"type": "state"})), 0.5)
    except (TimeoutError, websockets.ConnectionClosed):
        pass
    socket.transport.abort()


async def garbage(address):
    """Texts that are none of ours, bytes, and then more of both than anybody listens to."""
    codes = []
    async with websockets.connect(f"ws://{address}/ws") as socket:
        try:
            for number in range(100):
                message = ["{", "[]", b"\xff\x00", '{"type": "bye"}', "null", "\u0000"][number % 6]
                await socket.send(message)
                codes.append(json.loads(await socket.recv())["data"]["code"])
        except websockets.ConnectionClosed:
            pass
    return codes


async def oversized(address):
    """A message larger than is accepted."""
    socket = await begin(address)
    try:
        await socket.send("x" * 4_000_000)
        await asyncio.wait_for(socket.recv(), 20)
        return "accepted"
    except websockets.ConnectionClosed as closed:
        return [closed.rcvd.code, closed.rcvd.reason] if closed.rcvd else str(closed)


async def broken_frames(address):
    """Bytes that are no WebSocket after a proper beginning."""
    socket = await begin(address)
    socket.transport.write(b"\xff" * 1000)
    await asyncio.sleep(0.5)
    socket.transport.abort()


async def no_http(address):
    """Bytes that are no HTTP."""
    host, port = address.split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(b"\x16\x03\x01" + bytes(range(256)) * 40)
    await asyncio.wait_for(reader.read(), 20)
    writer.close()


def stalled(address):
    """Connections that send half a request and wait."""
    host, port = address.split(":")
    sockets = []
    for _ in range(40):
        stalled = socket.create_connection((host, int(port)))
        stalled.sendall(b"GET /ws HTTP/1.1\r\nHost:")
        sockets.append(stalled)
    return sockets


async def worse(address, rounds):
    """All of them at once, beside honest clients, whose episodes are returned."""
    kept = stalled(address)
    found = {}
    honest = [asyncio.create_task(episode(address, number)) for number in range(4)]
    for _ in range(int(rounds)):
        bad = [
            vanish(address),
            flood(address),
            garbage(address),
            oversized(address),
            broken_frames(address),
            no_http(address),
        ]
        _, _, found["garbage"], found["oversized"], _, _ = await asyncio.gather(*bad)
    found["episodes"] = await asyncio.gather(*honest)
    # Every place is free again, and soon: as many honest clients as there are hold one each at
    # the same time.
    start_line = asyncio.Barrier(12)

    async def patient(number):
        while True:
            try:
                return await episode(address, number, start_line)
            except RuntimeError as error:
                if "CAPACITY" not in str(error):
                    raise
                await asyncio.sleep(0.2)

    after = asyncio.gather(*(patient(number) for number in range(12)))
    found["after"] = await asyncio.wait_for(after, 120)
    for one in kept:
        one.close()
    return found


async def main():
    address, scenario, *arguments = sys.argv[1:]
    print(json.dumps(await globals()[scenario](address, *arguments)))


asyncio.run(main())
