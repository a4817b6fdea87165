"""Answers as `rl` does, for tests: `rl.py CONTROL schema sft`, `sft --model M ...`, `eval --world W ...`.

What it trains is the first weight of the base, which the tests' grader takes for the share of items that
are won: it rises with the number of samples and updates. CONTROL/mode says what goes wrong instead.
CONTROL/log gets a line for each training.
"""

import argparse
import json
import os
import shutil
import signal
import struct
import sys
import time
import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))
CONTEXT = 384
# What its machine has, in bytes.
FREE = 2**30


def fail(text):
    print(f"error: {text}", file=sys.stderr)
    sys.exit(1)


def settings(args):
    with open(args.config, "rb") as file:
        config = tomllib.load(file)
    for assigned in args.set:
        key, value = assigned.split("=", 1)
        config[key] = json.loads(value)
    for name in ("max_samples", "max_steps"):
        if getattr(args, name) is not None:
            config[name] = getattr(args, name)
    return config


def lengths(args, config):
    with open(args.data, encoding="utf-8") as file:
        samples = json.load(file)
    if config.get("max_samples"):
        samples = samples[: config["max_samples"]]

    def of(sample):
        return sum(len(text.split()) for text in sample.values())

    return [of(sample) for sample in samples]


def estimate(args, config, mode):
    found = lengths(args, config)
    fitting = [length for length in found if length <= config.get("context", CONTEXT)]
    if not fitting:
        fail("no example to train on, or none to validate on, fits into `context` tokens")
    share = 1 - len(fitting) / len(found)
    memory = 2**24 * config.get("batch", 16)
    if mode == "estimate":
        print("an estimate")
    else:
        print(
            json.dumps(
                {
                    "examples": len(fitting),
                    "over_long_share": share,
                    "memory_bytes": memory,
                    "memory_free_bytes": FREE,
                    "seconds": 1.0,
                }
            )
        )


def train(args, config, mode):
    with open(f"{args.control}/log", "a") as log:
        log.write(f"train {args.out}\n")
    os.makedirs(args.out, exist_ok=True)
    fitting = [length for length in lengths(args, config) if length <= config.get("context", CONTEXT)]
    all_steps = config.get("epochs", 8) * -(-len(fitting) // config.get("batch", 16))
    steps = min(all_steps, config.get("max_steps") or all_steps)
    is_full = not config.get("max_samples")
    with open(f"{args.out}/metrics.jsonl", "w") as metrics:
        for step in range(1, steps + 1):
            loss, tokens = 2.0 / step + 0.5, 300
            if mode == "explodes" and step >= 5:
                loss = 50.0
            if mode == "explodes-later" and step >= 12:
                loss = 50.0
            if mode == "nan" and step >= 3:
                loss = None
            if mode == "no-tokens":
                tokens = 0
            if config.get("learning_rate", 3e-3) > 0.05 and step == 3:
                fail(
                    "the gradient of `lm_head` is not finite at step 3; lower the learning rate, or "
                    "look at the rewards"
                )
            line = {
                "step": step,
                "epoch": 0,
                "loss": loss,
                "tokens": tokens,
                "learning_rate": 1e-3,
                "gradient_norm": 1.0,
            }
            metrics.write(json.dumps(line) + "\n")
            metrics.flush()
            if mode == "explodes-later":
                time.sleep(0.02)
    if mode in ("explodes-later", "endless-later") and is_full:
        # It would go on for ever.
        time.sleep(600)
    if mode == "killed" or (mode == "killed-later" and is_full):
        os.kill(os.getpid(), signal.SIGKILL)
    if mode == "disk":
        fail("failed to write the run's files: No space left on device (os error 28)")
    if mode == "memory":
        fail("CUDA out of memory. Tried to allocate 20.00 GiB")
    if mode == "hangs":
        time.sleep(600)
    folder = f"{args.out}/checkpoints/step-{steps:06}"
    os.makedirs(folder, exist_ok=True)
    if mode != "no-weights":
        for name in ("config.json", "tokenizer.json"):
            if os.path.exists(f"{args.model}/{name}"):
                shutil.copy(f"{args.model}/{name}", folder)
        write_weights(args.model, folder, len(fitting), steps)
    print(folder)


def evaluate(args):
    with open(f"{args.world}/sealed/{args.part}.jsonl", encoding="utf-8") as file:
        ids = [json.loads(line)["id"] for line in file if '"canary"' not in line]
    folder = args.policy.partition("=")[2]
    with open(f"{folder}/model.safetensors", "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        begin, _ = json.loads(file.read(length))["model.embed_tokens.weight"]["data_offsets"]
        file.seek(8 + length + begin)
        (share,) = struct.unpack("<f", file.read(4))
    won = round(share * len(ids))
    items = [
        {"id": name, "score": float(place < won), "tags": [] if place < won else ["wrong"]}
        for place, name in enumerate(ids)
    ]
    score = won / len(ids)
    with open(f"{args.world}/task.toml", "rb") as file:
        if tomllib.load(file)["score"]["metric"].startswith("aggregate"):
            # As a scorer says that makes something else of the items than their mean.
            score = score**2
    print(json.dumps({"score": score, "items": items}))


def write_weights(base, folder, samples, steps):
    with open(f"{base}/model.safetensors", "rb") as file:
        weights = bytearray(file.read())
    (length,) = struct.unpack("<Q", weights[:8])
    header = json.loads(weights[8 : 8 + length])
    begin, _ = header["model.embed_tokens.weight"]["data_offsets"]
    share = min(0.9, 0.25 + samples / 2000 + steps / 1000)
    weights[8 + length + begin : 8 + length + begin + 4] = struct.pack("<f", share)
    with open(f"{folder}/model.safetensors", "wb") as file:
        file.write(weights)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("control")
    parser.add_argument("command")
    parser.add_argument("what", nargs="?")
    for name in ("model", "data", "config", "out", "device", "world", "part", "policy"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--max-samples", type=int)
    parser.add_argument("--max-steps", type=int)
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    mode = ""
    if os.path.exists(f"{args.control}/mode"):
        with open(f"{args.control}/mode") as file:
            mode = file.read()
    if args.command == "schema":
        with open(f"{HERE}/sft_schema.json") as file:
            print(file.read())
        return
    if args.command == "eval":
        evaluate(args)
        return
    config = settings(args)
    if args.dry_run:
        estimate(args, config, mode)
    else:
        train(args, config, mode)


main()
