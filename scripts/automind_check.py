"""What AutoMind promises of small tasks, measured on an evaluation.

    agents eval --bench synthetic --data CORPUS --preset automind-micro --model script:engineer \
        --seeds 1 --out OUT
    python scripts/automind_check.py OUT

Every run ends with a valid submission and none is lost to a fault of ours; a run of 12 steps takes
at most a minute (median), of which at most a twentieth passes outside of scripts and models. The exit
code is 1 if a promise is not kept.
"""

import json
import statistics
import sys
from pathlib import Path

MOST_SECONDS = 60.0
MOST_SHARE = 0.05


def main(folder: Path) -> int:
    runs = json.loads((folder / "runs.json").read_text())
    graded = [run["outcome"]["graded"] for run in runs if "graded" in run["outcome"]]
    valid = sum(one["score"] is not None for one in graded)
    wall = [run["seconds"]["wall"] for run in runs]
    outside = [run["seconds"]["wall"] - run["seconds"]["script"] - run["seconds"]["player"] for run in runs]
    seconds = statistics.median(wall)
    share = sum(outside) / sum(wall)
    checks = [
        ("runs that end with a valid submission", f"{valid} of {len(runs)}", valid == len(runs)),
        ("runs that are lost to faults", str(len(runs) - len(graded)), len(graded) == len(runs)),
        ("seconds a run, median", f"{seconds:.1f}", seconds <= MOST_SECONDS),
        ("share of time outside of scripts and models", f"{share:.3f}", share <= MOST_SHARE),
    ]
    for name, value, holds in checks:
        print(f"{'ok ' if holds else 'NOT'} {name}: {value}")
    return 0 if all(holds for _, _, holds in checks) else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
