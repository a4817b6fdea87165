"""A scripted player behind OpenAI's protocol: for `test_bridges.py` a script, the score, the submission."""

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# A forest for tables with one target. It fails on tasks with several, whose reward is then 0.
SCRIPT = """
import pandas as pd
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
train, test = pd.read_csv("input/train.csv"), pd.read_csv("input/test.csv")
sample = pd.read_csv("input/sample_submission.csv")
key, target = sample.columns
rows = pd.concat([train.drop(columns=target), test]).drop(columns=key)
x = pd.get_dummies(rows.select_dtypes(["number", "object"]), dtype=float).fillna(-1.0)
kind = RandomForestRegressor if sample[target].dtype == float else RandomForestClassifier
model = kind(60, random_state=0).fit(x[: len(train)], train[target])
sample[target] = model.predict(x[len(train) :])
sample.to_csv("submission.csv", index=False)
"""
PLAN = [("python", {"code": SCRIPT}), ("score", {}), ("submit", {})]
TEXTS = [
    f"<think>A forest.</think>\n<tool_call>\npython\n<code>\n{SCRIPT}\n</code>\n</tool_call>",
    '<think>How good?</think>\n<tool_call>\n{"name": "Score"}\n</tool_call>',
    "<think>Done.</think>\n<answer>submission</answer>",
]


def reply(request):
    """The scripted player's next message."""
    messages = request["messages"]
    turn = sum(message["role"] == "assistant" for message in messages)
    if turn >= len(PLAN):
        return {"role": "assistant", "content": "The submission is handed in."}
    name, arguments = PLAN[turn]
    if request.get("tools"):
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"id": f"call-{turn}", "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}
    if any("action_schema" in str(message["content"]) for message in messages):
        return {"role": "assistant", "content": json.dumps({"tool_name": name, "arguments": arguments})}
    return {"role": "assistant", "content": TEXTS[turn]}


class Player(BaseHTTPRequestHandler):
    """One route of OpenAI's protocol, `POST /v1/chat/completions`."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/v1/chat/completions":
            self.send_error(404, f"the player does not answer {self.path}")
            return
        message = self.server.reply(request)
        finish = "tool_calls" if message.get("tool_calls") else "stop"
        choice = {"index": 0, "finish_reason": finish, "logprobs": None}
        usage = dict.fromkeys(("prompt_tokens", "completion_tokens", "total_tokens"), 1)
        answer = {"id": "scripted", "created": 0, "model": request["model"], "usage": usage}
        if request.get("stream"):
            for index, call in enumerate(message.get("tool_calls", [])):
                call["index"] = index
            choices = [choice | {"delta": message}]
            chunk = json.dumps(answer | {"object": "chat.completion.chunk", "choices": choices})
            self.send("text/event-stream", f"data: {chunk}\n\ndata: [DONE]\n\n")
        else:
            choices = [choice | {"message": message}]
            answer |= {"object": "chat.completion", "choices": choices}
            self.send("application/json", json.dumps(answer))

    def send(self, kind, text):
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def scripted(reply=reply):
    """Serves a player; `reply` makes the next message from a request."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Player)
    server.reply = reply
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
