"""Servers that answer as vLLM or SGLang do, with transformers inside, and fail when they are told to.

engine.py PLAN: a JSON file with `model` (the folder of a policy in f32), `keys` (for each seed of a
turn the key of its random stream, in hexadecimal) and `servers`, a list of `{api, port, faults}`.
`port` 0 takes a free one. `faults` is a list of `[route, first, last, kind]`: calls `first` to
`last` of `route` (`generate`, `load` or `score`, counted from 1) fail in the way of `kind`. Prints
the addresses, one per line, then serves until it is killed.
"""

import itertools
import json
import math
import os
import struct
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import torch
from transformers import AutoModelForCausalLM

PLAN = json.load(open(sys.argv[1]))
# Torch is asked by one request at a time.
TURN = threading.Lock()


def chacha8(key):
    """The numbers in [0, 1) of the stream with this key, as `rand` draws them from ChaCha with 8 rounds."""
    constants = struct.unpack("<4I", b"expand 32-byte k")
    words = struct.unpack("<8I", bytes.fromhex(key))
    for counter in range(1 << 32):
        first = [*constants, *words, counter, 0, 0, 0]
        state = list(first)

        def quarter(a, b, c, d, state=state):
            for x, y, z, shift in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                state[x] = (state[x] + state[y]) & 0xFFFFFFFF
                mixed = state[z] ^ state[x]
                state[z] = (mixed << shift | mixed >> (32 - shift)) & 0xFFFFFFFF

        for _ in range(4):
            for column in range(4):
                quarter(column, column + 4, column + 8, column + 12)
            for column in range(4):
                quarter(column, 4 + (column + 1) % 4, 8 + (column + 2) % 4, 12 + (column + 3) % 4)
        block = [(x + y) & 0xFFFFFFFF for x, y in zip(state, first, strict=True)]
        for low, high in zip(block[::2], block[1::2], strict=True):
            yield ((high << 32 | low) >> 11) / (1 << 53)


class Engine:
    """One server's weights."""

    def __init__(self, api, faults):
        self.api, self.faults = api, faults
        self.calls, self.version = {}, "default"
        self.counting = threading.Lock()
        self.load(PLAN["model"])

    def fault(self, route):
        with self.counting:
            count = self.calls[route] = self.calls.get(route, 0) + 1
        found = (kind for name, first, last, kind in self.faults if name == route and first <= count <= last)
        return next(found, None)

    def load(self, folder):
        # Loading in two threads at once leaves weights that were never set.
        with TURN:
            self.model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()

    def spoil(self):
        """Other weights than those that were loaded."""
        with torch.no_grad():
            for parameter in self.model.parameters():
                parameter.mul_(1.05)

    @torch.no_grad()
    def score(self, ids):
        with TURN:
            log_probs = torch.log_softmax(self.model(torch.tensor([ids])).logits[0], -1)
        return log_probs[range(len(ids) - 1), ids[1:]].tolist()

    @torch.no_grad()
    def generate(self, ids, seed, most, stop, temperature, min_p):
        with TURN:
            points, past, new = chacha8(PLAN["keys"][str(seed)]), None, list(ids)
            sampled, log_probs = [], []
            while len(sampled) < most:
                found = self.model(torch.tensor([new]), past_key_values=past, use_cache=True)
                past = found.past_key_values
                row = torch.log_softmax(found.logits[0, -1] / temperature, -1)
                choice, log_prob = draw(row.tolist(), next(points), min_p)
                sampled.append(choice)
                log_probs.append(log_prob)
                new = [choice]
                if choice in stop:
                    return sampled, log_probs, True
            return sampled, log_probs, False


def draw(row, point, min_p):
    """The token at `point` of the distribution of what min-p keeps, and its log-probability there."""
    if min_p == 0:
        kept = [(index, math.exp(value)) for index, value in enumerate(row)]
        goal, mass = point, 1.0
    else:
        floor = max(row) + math.log(min_p)
        order = sorted(
            (index for index in range(len(row)) if row[index] >= floor), key=lambda i: (-row[i], i)
        )
        kept = [(index, math.exp(row[index])) for index in order]
        mass = sum(weight for _, weight in kept)
        goal = point * mass
    sums = itertools.accumulate(weight for _, weight in kept)
    # Rounding can leave the sum just short of its goal; the last token is meant.
    place = next((place for place, total in enumerate(sums) if total > goal), -1)
    index = kept[place][0]
    return index, row[index] - math.log(mass)


class Handler(BaseHTTPRequestHandler):
    """Both engines' routes."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        engine = self.server.engine
        answers = {
            "/health": {},
            "/v1/models": {
                "object": "list",
                "data": [{"id": "policy", "max_model_len": 40960, "parent": None}],
            },
            "/weight_info": {"weight_version": engine.version},
            "/model_info": {"model_path": "policy", "weight_version": engine.version},
        }
        self.answer(answers.get(self.path))

    def do_POST(self):
        length = int(self.headers["content-length"])
        body = json.loads(self.rfile.read(length))
        engine, path = self.server.engine, self.path.partition("?")[0]
        if path == "/v1/completions":
            self.completion(engine, body)
        elif path == "/generate":
            self.generation(engine, body)
        elif path == "/collective_rpc":
            self.answer({"results": [None]} if self.takes(engine, body["kwargs"]["weights_path"]) else None)
        elif path == "/update_weight_version":
            engine.version = body["new_version"]
            self.answer({})
        elif path == "/update_weights_from_disk":
            if self.takes(engine, body["model_path"]):
                engine.version = body["weight_version"]
                self.answer({"success": True, "message": "", "num_paused_requests": 0})
        elif path in (
            "/pause",
            "/resume",
            "/reset_prefix_cache",
            "/pause_generation",
            "/continue_generation",
        ):
            self.answer({"status": "done"})
        else:
            self.answer(None)

    def takes(self, engine, folder):
        kind = engine.fault("load")
        if kind == "refuse":
            self.answer({"error": "no room for the weights"}, 500)
            return False
        if kind != "stale":
            engine.load(folder)
        if kind == "spoil":
            engine.spoil()
        return True

    def completion(self, engine, body):
        if "prompt_logprobs" in body:
            scores = engine.score(body["prompt"])
            of = [
                {str(id): {"logprob": s, "rank": 1}} for id, s in zip(body["prompt"][1:], scores, strict=True)
            ]
            choice = {"finish_reason": "length", "prompt_logprobs": [None, *of], "token_ids": [0]}
            self.answer({"choices": [choice]})
            return
        assert body["cache_salt"], "keys and values of other weights may be reused"
        assert body["logprobs"] == 0 and body["return_token_ids"], body
        ids, log_probs, stopped = self.sampled(
            engine, body["prompt"], body["seed"], body["max_tokens"], body["stop_token_ids"], body
        )
        if ids is not None:
            choice = {
                "finish_reason": "stop" if stopped else "length",
                "token_ids": ids,
                "logprobs": {"token_logprobs": log_probs},
            }
            self.answer({"choices": [choice]})

    def generation(self, engine, body):
        parameters, ids = body["sampling_params"], body["input_ids"]
        if body["logprob_start_len"] == 0:
            scored = [[None, ids[0], None]]
            scored += [[s, id, None] for id, s in zip(ids[1:], engine.score(ids), strict=True)]
            meta = {"finish_reason": {"type": "length", "length": 1}, "input_token_logprobs": scored}
            self.answer({"output_ids": [], "meta_info": meta})
            return
        new, log_probs, stopped = self.sampled(
            engine,
            ids,
            parameters["sampling_seed"],
            parameters["max_new_tokens"],
            parameters["stop_token_ids"],
            parameters,
        )
        if new is not None:
            meta = {
                "finish_reason": {"type": "stop", "matched": new[-1]}
                if stopped
                else {"type": "length", "length": 1},
                "weight_version": engine.version,
                "output_token_logprobs": [[s, id, None] for s, id in zip(log_probs, new, strict=True)],
            }
            self.answer({"text": "", "output_ids": new, "meta_info": meta})

    def sampled(self, engine, ids, seed, most, stop, parameters):
        assert parameters["top_p"] == 1 and parameters["top_k"] in (-1, 0), parameters
        kind = engine.fault("generate")
        if kind == "die":
            os._exit(1)
        if kind == "drop":
            self.close_connection = True
            self.connection.close()
            return None, None, None
        if kind == "full":
            self.answer({"error": "too many requests"}, 503)
            return None, None, None
        if kind == "garbage":
            self.answer("<html>")
            return None, None, None
        if kind == "restart":
            engine.load(PLAN["model"])
            engine.version = "default"
        ids, log_probs, stopped = engine.generate(
            ids, seed, most, stop, parameters["temperature"], parameters["min_p"]
        )
        if kind == "short":
            log_probs = log_probs[1:]
        if kind == "unlikely":
            log_probs = [1.0 for _ in log_probs]
        return ids, log_probs, stopped

    def answer(self, content, status=200):
        if content is None:
            content, status = {"error": "no such route"}, 404
        text = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def main():
    torch.set_num_threads(1)
    servers = []
    for plan in PLAN["servers"]:
        server = Server(("127.0.0.1", plan["port"]), Handler)
        server.engine = Engine(plan["api"], plan["faults"])
        servers.append(server)
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(f"http://127.0.0.1:{server.server_port}", flush=True)
    threading.Event().wait()


main()
