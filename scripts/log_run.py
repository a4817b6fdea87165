#!/usr/bin/env python3
"""Sends the metrics of a run of `rl sft` or `rl train` to Trackio, Weights & Biases or MLflow.

Names and steps are those of TensorBoard, `settings.toml` is the configuration. A file in the run's
folder says what was sent, so the same command sends only what is new. docs/LOGGING.md has the details.
"""

import argparse
import fcntl
import hashlib
import importlib
import json
import pathlib
import re
import signal
import sys
import time
import tomllib


def scalars(line):
    """The numbers of a line by name, as `rl::run::tensorboard::scalars` has them."""
    found = {}
    for name, value in line.items():
        is_time = name.endswith(("_seconds", "_per_second"))
        group = "time" if is_time else "memory" if name.endswith("_bytes") else "train"
        nested = value.items() if isinstance(value, dict) else ()
        for key, number in [(f"{group}/{name}", value), *((f"{name}/{key}", it) for key, it in nested)]:
            if type(number) in (int, float) and name not in ("step", "unix_seconds"):
                found[key] = number
    return found


def flat(value, key=""):
    """Settings by dotted key, as `--set` takes it."""
    if isinstance(value, dict):
        return {k: v for name in value for k, v in flat(value[name], f"{key}.{name}".strip(".")).items()}
    return {key: value if isinstance(value, int | float | str) else json.dumps(value)}


def connect(to, project, name, settings, known):
    """Opens a run, a new one unless its id is known; returns its id, what sends a line, what ends it."""
    service = importlib.import_module(to)
    if to == "mlflow":
        service.set_experiment(project)
        run = service.start_run(run_id=known, run_name=None if known else name).info.run_id
        if not known:
            service.log_params(settings)
        point, log = service.entities.Metric, service.MlflowClient().log_batch

        def send_line(line):
            at = int(line["unix_seconds"] * 1000)
            log(run, [point(key, value, at, line["step"]) for key, value in scalars(line).items()])

        return run, send_line, service.end_run
    if to == "wandb":
        options = {"id": known, "resume": "allow"}
        options["settings"] = service.Settings(x_disable_stats=True, console="off")
    else:
        options = {"resume": "must" if known else "never", "auto_log_cpu": False, "auto_log_gpu": False}
        name = known or name  # by which it finds a run
    run = service.init(project=project, name=name, config=settings, **options)
    run_id = run.id if to == "wandb" else name
    return run_id, lambda line: run.log(scalars(line), step=line["step"]), service.finish


def send(arguments, book, service):
    """Sends what is new, by `service` if one is open; returns the one that is open then."""
    path = arguments.run / "metrics.jsonl"
    text = path.read_bytes() if path.is_file() else b""
    book.seek(0)
    state = json.loads((book.read().splitlines() or ['{"part": 1, "id": null, "bytes": 0}'])[-1])
    sent = hashlib.sha256(text[: state["bytes"]])
    if state["bytes"] and sent.hexdigest() != state["sha256"]:
        # A resumed run took lines back, which no service can do: another run begins with the first.
        if service:
            service[2]()
        service, sent = None, hashlib.sha256()
        state = {"part": state["part"] + 1, "id": None, "bytes": 0}
    # The last line may be half written.
    for line in re.findall(rb".*\n", text[state["bytes"] :]):
        if not service:
            name = arguments.name or arguments.run.resolve().name
            name += f"-{state['part']}" if state["part"] > 1 else ""
            settings = flat(tomllib.loads((arguments.run / "settings.toml").read_text()))
            service = connect(arguments.to, arguments.project, name, settings, state["id"])
        service[1](json.loads(line))
        sent.update(line)
        state |= {"id": service[0], "bytes": state["bytes"] + len(line), "sha256": sent.hexdigest()}
        print(json.dumps(state), file=book, flush=True)
    return service


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("run", type=pathlib.Path, help="folder of a run of `rl sft` or `rl train`")
    parser.add_argument("--to", required=True, choices=["trackio", "wandb", "mlflow"])
    parser.add_argument("--project", default="mle-agents", help="project or experiment [mle-agents]")
    parser.add_argument("--name", help="what the run is called there [the folder's name]")
    help = "look again every 10 s, or so often, until Ctrl-C or SIGTERM"
    parser.add_argument("--follow", type=float, nargs="?", const=10, metavar="SECONDS", help=help)
    arguments = parser.parse_args()
    if not (arguments.run / "settings.toml").is_file():
        sys.exit(f"error: {arguments.run} has no settings.toml, so it is no run of `rl sft` or `rl train`")
    target = f"{arguments.to}-{arguments.project}".replace("/", "-")
    book = open(arguments.run / f"logged-{target}.jsonl", "a+")
    try:
        fcntl.flock(book, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit(f"error: another log_run.py sends {arguments.run} there")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    service = None
    try:
        service = send(arguments, book, service)
        while arguments.follow:
            time.sleep(arguments.follow)
            service = send(arguments, book, service)
    except KeyboardInterrupt:
        pass
    except ImportError as error:
        sys.exit(f"error: {error}; pip install {arguments.to}")
    if service:
        service[2]()


if __name__ == "__main__":
    main()
