#!/usr/bin/env python3
"""Plays the examples of docs/INTEROP.md against `sandbox serve`: `make test-bridges`.

A scripted player sits behind OpenAI's protocol: a script, the score, the submission. Every framework plays
every task of a small corpus with it, and what the framework says the reward is must be what `sandbox grade`
says of the same script's submission. Then a tiny policy of `rl sft` plays behind `rl serve`: every episode
must end with a reward, which must be what the grade in the server's record implies.
"""

import argparse
import contextlib
import json
import math
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from scripted_player import SCRIPT, scripted

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
# The reward of a valid submission, by its tier.
VALUES = {None: 0.2, "median": 0.3, "bronze": 0.7, "silver": 0.8, "gold": 0.9}


@contextlib.contextmanager
def serving(command, log):
    """A server that prints its address on a line of standard output; yields the address."""
    with open(log, "w") as errors:
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
    try:
        line = child.stdout.readline()
        if not (address := re.search(r"http://\S+", line)):
            sys.exit(f"error: {command[0]} did not start; see {log}")
        yield address[0]
    finally:
        child.terminate()
        child.wait()


def run(command, log, **more):
    """Runs a program to its end; its output goes to `log`."""
    environment = os.environ | more.pop("environment", {})
    with open(log, "w") as out:
        code = subprocess.run(
            list(map(str, command)), stdout=out, stderr=out, env=environment, timeout=1800, **more
        ).returncode
    if code != 0:
        sys.exit(f"error: `{command[0]}` ended with {code}:\n{Path(log).read_text()[-3000:]}")


def lines(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def expected(bin, tasks, out):
    """The reward of the script on each task, by `sandbox run` and `sandbox grade`."""
    script, rewards = out / "script.py", {}
    script.write_text(SCRIPT)
    for task in sorted(path.parent for path in tasks.glob("*/task.json")):
        submission = out / f"{task.name}.csv"
        subprocess.run([bin / "sandbox", "run", task, script, "--out", submission], capture_output=True)
        if not submission.exists():
            rewards[task.name] = 0.0
            continue
        grade = subprocess.check_output([bin / "sandbox", "grade", task, submission, "--json"])
        grade = json.loads(grade)
        rewards[task.name] = VALUES[grade["tier"]] if grade["valid"] else 0.0
    return rewards


class Place:
    """Where the servers are, and where a framework's files go."""

    def __init__(self, out, sandbox, policy, model, tasks, checkpoint=None):
        self.out, self.sandbox, self.policy, self.model = out, sandbox, policy, model
        self.tasks, self.checkpoint = tasks, checkpoint
        out.mkdir(parents=True, exist_ok=True)

    def rows(self, style):
        """The rows of all tasks, of both splits."""
        path, parts = self.out / f"{style}.jsonl", []
        for split in ("train", "val"):
            part = self.out / f"{style}-{split}.jsonl"
            command = [sys.executable, EXAMPLES / "rows.py", self.sandbox, part, "--split", split]
            run([*command, "--style", style], self.out / "rows.log")
            parts.append(part.read_text())
        path.write_text("".join(parts))
        return path


def program(environment, name):
    path = ROOT / f".venv-{environment}" / "bin" / name
    if not path.exists():
        sys.exit(f"error: there is no {path}\n\nhint: `make venv-{environment}` makes it")
    return path


def vf_eval(place, name, settings, replaced):
    """Runs `vf-eval` with an example's settings, in which addresses are replaced; returns its episodes."""
    text = (EXAMPLES / "verifiers" / settings).read_text()
    for old, new in {
        '"http://127.0.0.1:8001/v1"': f'"{place.policy}/v1"',
        '"http://127.0.0.1:8765"': f'"{place.sandbox}"',
        'model = "sft"': f'model = "{place.model}"',
        **replaced,
    }.items():
        if old not in text:
            sys.exit(f"error: {settings} has no `{old}`")
        text = text.replace(old, new)
    (place.out / settings).write_text(text)
    shutil.rmtree(place.out / "outputs", ignore_errors=True)
    environment = {"OPENAI_API_KEY": "none", "PYTHONPATH": str(EXAMPLES / "verifiers")}
    command = [program("bridges", "vf-eval"), name, "@", settings]
    run(command, place.out / f"{name}.log", cwd=place.out, environment=environment)
    (traces,) = (place.out / "outputs").glob("*/traces.jsonl")
    return lines(traces)


def reward_of(episode, name):
    if not episode["ok"]:
        errors = episode["errors"] + [error for trace in episode["traces"] for error in trace["errors"]]
        sys.exit(f"error: an episode of verifiers failed: {json.dumps(errors)[:3000]}")
    (trace,) = episode["traces"]
    return trace["rewards"][name]["score"]


def verifiers(place, style):
    replaced = {'"generated/rows.jsonl"': f'"{place.rows(style or "turns")}"'}
    episodes = vf_eval(place, "mle-sandbox", "eval.toml", replaced)
    return {of["task"]["data"]["name"]: reward_of(of, "grade") for of in episodes}


def verifiers_openenv(place, style):
    named = ", ".join(f'{{ task = "{task}" }}' for task in place.tasks)
    resets = '{ split = "train", index = 0 }, { split = "train", index = 1 }'
    episodes = vf_eval(place, "openenv", "openenv.toml", {resets: named})
    return {of["task"]["data"]["reset"]["task"]: reward_of(of, "openenv_reward") for of in episodes}


def inspect(place, style):
    shutil.rmtree(place.out / "logs", ignore_errors=True)
    command = [program("openenv", "inspect"), "eval", "examples/inspect/sandbox_task.py"]
    command += ["-T", f"rows={place.rows(style or 'tools')}", "-T", f"url={place.sandbox}"]
    command += ["--model", f"openai-api/served/{place.model}", "--max-tokens", "512", "--display", "plain"]
    command += ["--log-dir", place.out / "logs", "--log-format", "json"]
    environment = {"SERVED_BASE_URL": f"{place.policy}/v1", "SERVED_API_KEY": "none"}
    # Inspect looks for a task's file below the folder that it runs in.
    run(command, place.out / "inspect.log", cwd=ROOT, environment=environment)
    (log,) = (place.out / "logs").glob("*.json")
    log = json.loads(log.read_text())
    if log["status"] != "success":
        sys.exit(f"error: the evaluation of Inspect has the status {log['status']}: {log.get('error')}")
    return {of["id"]: of["scores"]["grade"]["value"] for of in log["samples"]}


def nemo_gym(place, style):
    rollouts, log = place.out / "rollouts.jsonl", place.out / "servers.log"
    rollouts.unlink(missing_ok=True)
    rows = place.rows(style or "tools")
    # All servers share the locked environment; without this, NeMo Gym makes one for each.
    venvs, locked = place.out / "venvs", program("nemo-gym", "gym").parent.parent
    servers = ("resources_servers/mle_sandbox", "responses_api_agents/simple_agent")
    for server in (*servers, "responses_api_models/vllm_model"):
        (venvs / server).mkdir(parents=True, exist_ok=True)
        (venvs / server / ".venv").unlink(missing_ok=True)
        (venvs / server / ".venv").symlink_to(locked)
    shutil.copytree(EXAMPLES / "nemo_gym", place.out / "nemo_gym", dirs_exist_ok=True)
    gym, folder = locked / "bin" / "gym", place.out / "nemo_gym"
    environment = os.environ | {"PATH": f"{locked / 'bin'}:{os.environ['PATH']}"}
    environment.pop("VIRTUAL_ENV", None)
    command = [gym, "env", "start", "--config", "resources_servers/mle_sandbox/configs/mle_sandbox.yaml"]
    command += ["--model-type", "vllm_model", "--model", place.model, "--model-url", f"{place.policy}/v1"]
    command += ["--model-api-key", "none", "+skip_venv_if_present=true", f"+uv_venv_dir={venvs}"]
    command += [f"++mle_sandbox.resources_servers.mle_sandbox.sandbox_url={place.sandbox}"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        head = f"+head_server={{host: 127.0.0.1, port: {free.getsockname()[1]}}}"
    with open(log, "w") as out:
        command = list(map(str, [*command, head]))
        # A session of its own, because its servers outlive it where it fails.
        child = subprocess.Popen(
            command, stdout=out, stderr=out, cwd=folder, env=environment, start_new_session=True
        )
    try:
        deadline = time.monotonic() + 600
        while "All 3 / 3 servers ready" not in log.read_text():
            if child.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"error: the servers of NeMo Gym did not start:\n{log.read_text()[-3000:]}")
            time.sleep(1)
        command = [gym, "eval", "run", "--no-serve", "--agent", "mle_sandbox_agent", "--input", rows]
        command += ["--output", rollouts, "--max-output-tokens", "512", head]
        run(command, place.out / "rollouts.log", cwd=folder, environment=environment)
    finally:
        os.killpg(child.pid, signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(30)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    return {of["task"]: of["reward"] for of in lines(rollouts)}


def skyrl(place, style):
    out = place.out / "rewards.jsonl"
    command = [program("bridges", "python"), EXAMPLES / "skyrl/sandbox_env.py"]
    rows = place.rows(style or "turns")
    run([*command, rows, f"{place.policy}/v1", place.model, place.sandbox], out)
    return {of["task"]: of["reward"] for of in lines(out)}


def verl(place, style):
    out = place.out / "rewards.jsonl"
    command = [program("bridges", "python"), EXAMPLES / "verl/play.py", place.rows(style or "turns")]
    run([*command, place.checkpoint, f"{place.policy}/v1", place.model, place.sandbox], out)
    return {of["task"]: of["reward"] for of in lines(out)}


BRIDGES = {of.__name__: of for of in (verifiers, verifiers_openenv, inspect, nemo_gym, skyrl, verl)}
# Tokens in and out: the scripted player has no tokenizer.
TOKENS = {"verl"}
# For models that write JSON, which the tiny policy does not; what it leaves has no grade.
JSON = {"verifiers_openenv"}
# What opens an episode of the tiny policy, where it is not tools.
BRIEF = {"verifiers": "brief", "inspect": "brief", "skyrl": "brief", "verl": "brief"}


def recorded(records):
    """The rewards that the grades in the server's records imply, by task."""
    rewards = {}
    for record in records:
        finish = lines(record)[-1]["finish"]
        if finish is None:
            sys.exit(f"error: an episode was left without a submission: {record}")
        grade = finish["grade"]
        rewards[record.parent.name] = VALUES[grade["tier"]] if grade else 0.0
    return rewards


def check(name, rewards, tasks, expected):
    """Each task has a reward, which is the one that is expected."""
    print(f"{name}: {json.dumps(rewards)}", flush=True)
    if sorted(rewards) != sorted(tasks):
        sys.exit(f"error: {name}: there are rewards for {sorted(rewards)}, but the tasks are {sorted(tasks)}")
    for task, reward in rewards.items():
        if not math.isclose(reward, expected[task], abs_tol=1e-9):
            sys.exit(f"error: {name}: the reward on {task} is {reward}; its grade implies {expected[task]}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BRIDGES)}; default all")
    parser.add_argument("--bin", type=Path, default=ROOT / "target/release", help="folder of the programs")
    parser.add_argument("--out", type=Path, default=ROOT / "generated/bridges", help="folder for results")
    options = parser.parse_args()
    if unknown := set(options.names) - set(BRIDGES):
        parser.error(f"there is no example {', '.join(sorted(unknown))}")
    bin, out = options.bin.resolve(), options.out.resolve()
    names = options.names or list(BRIDGES)
    corpus = out / "tasks"
    out.mkdir(parents=True, exist_ok=True)
    if not (corpus / "corpus.json").exists():
        command = [bin / "factory", "generate", "--seeds", "mlebench", "--count", "6", "--seed", "3"]
        command += ["--modality", "tabular", "--formulation", "binary,regression,multiclass", "--out", corpus]
        run(command, out / "factory.log")
    rewards = expected(bin, corpus, out)
    print(f"sandbox grade: {json.dumps(rewards)}", flush=True)
    if len(set(rewards.values())) < 3:
        sys.exit("error: the script reaches too few different rewards to compare")
    # With `validate`, the final grade is on all rows, as that of `sandbox grade`.
    command = [bin / "sandbox", "serve", corpus, "--listen", "127.0.0.1:0", "--records", out / "records"]
    command += ["--turns", "5", "--feedback", "validate", "--reveal", "tier", "--answer-limit", "600s"]
    with serving(command, out / "sandbox.log") as sandbox:
        with scripted() as player:
            for name in (name for name in names if name not in TOKENS):
                place = Place(out / "scripted" / name, sandbox, player, "scripted", list(rewards))
                check(name, BRIDGES[name](place, None), rewards, rewards)
        if not list((out / "sft/checkpoints").glob("step-*")):
            command = [bin / "rl", "sft", "--model", "tiny", "--tasks", corpus, "--epochs", "60"]
            run([*command, "--out", out / "sft"], out / "sft.log")
        checkpoint = max((out / "sft/checkpoints").glob("step-*"))
        command = [bin / "rl", "serve", "--model", checkpoint, "--served-model-name", "tiny", "--port", "0"]
        with serving(command, out / "serve.log") as served:
            for name in (name for name in names if name not in JSON):
                before = set((out / "records").glob("*/*.jsonl"))
                place = Place(out / "policy" / name, sandbox, served, "tiny", list(rewards), checkpoint)
                found = BRIDGES[name](place, BRIEF.get(name))
                records = set((out / "records").glob("*/*.jsonl")) - before
                check(f"{name} with the policy", found, rewards, recorded(records))


if __name__ == "__main__":
    main()
