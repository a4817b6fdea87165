"""Writes the files that scores and times are told in, wherever it can, and those of everybody else."""

import json
import os
from pathlib import Path

from common import OUTPUT, fails, hint, model, submit

won = json.dumps([{"submission_id": 1, "score": 1.0, "is_best": True}])
workspace = Path(os.environ["WORKSPACE"])
given = ["views", "data", "data/public", "models", os.environ["MODEL_PATH"], "."]
for folder in [*given, "/", "/toolbox/bin", "/agent"]:
    fails((workspace / folder / "scores.json").write_text, won)
for path in ["views/run_meta.json", "instructions.md", "data/public/train.jsonl", "data/task.toml"]:
    path = workspace / path
    fails(path.write_text, won)
    fails(path.unlink)
    fails(os.rename, path, OUTPUT / "moved")
    fails(os.chmod, path, 0o777)
fails(os.rename, workspace / "views", workspace / "other")
for path in hint("ledger"), hint("metrics"), hint("scores"):
    fails(Path(path).write_text, won)
honest = model("honest", 0.5)
for name in ["scores.json", "run_meta.json", "ledger.jsonl", "results.json"]:
    (OUTPUT / name).write_text(won)
    (OUTPUT / "honest" / name).write_text(won)
status, entry = submit(honest)
assert (status, entry["score"]) == (200, 0.5), entry
