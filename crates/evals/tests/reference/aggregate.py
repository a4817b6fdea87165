"""Reads the files for mle-bench by the keys that its documentation names, and averages them.

A question per line: {"runs": folder, "experiment": id, "competitions": [id], "pad": bool}.
An answer per line: the summary of mle-bench, or {"error": text} where its script stops.
"""

import csv
import json
import sys
from pathlib import Path

from scipy import stats

FLAGS = {
    "submission_exists_percentage": "submission_exists",
    "valid_submissions_percentage": "valid_submission",
    "above_median_percentage": "above_median",
    "gold_medal_percentage": "gold_medal",
    "silver_medal_percentage": "silver_medal",
    "bronze_medal_percentage": "bronze_medal",
    "any_medal_percentage": "any_medal",
}


def read(runs: Path, experiment: str) -> dict:
    """The reports of each competition, in the order of the run groups."""
    with (runs / "run_group_experiments.csv").open() as file:
        groups = [row["run_group"] for row in csv.DictReader(file) if row["experiment_id"] == experiment]
    reports = {}
    for group in sorted(groups):
        (path,) = (runs / group).glob("*grading_report*.json")
        whole = json.loads(path.read_text())
        assert whole["total_runs"] == len(whole["competition_reports"])
        medals = [whole[f"total_{medal}_medals"] for medal in ("gold", "silver", "bronze")]
        assert whole["total_medals"] == sum(medals)
        for report in whole["competition_reports"]:
            won = [report[f"{medal}_medal"] for medal in ("gold", "silver", "bronze")]
            assert sum(won) == report["any_medal"]
            reports.setdefault(report["competition_id"], []).append(report)
    return reports


def summary(question: dict) -> dict:
    """What the script of mle-bench prints."""
    reports = read(Path(question["runs"]), question["experiment"])
    competitions = question["competitions"]
    counts = [len(reports.get(name, [])) for name in competitions]
    seeds = max(counts) if question["pad"] else min(counts)
    if seeds == 0:
        return {"error": "no complete seed"}

    def over_seeds(values: list) -> dict:
        mean = sum(values) / len(values)
        error = float(stats.sem(values, ddof=1)) if len(values) > 1 else 0.0
        bounds = {"ci_lower": mean - 1.96 * error, "ci_upper": mean + 1.96 * error}
        return {"mean": mean, **bounds, "standard_error": error}

    def share(flag: str, seed: int) -> float:
        held = [reports[name][seed][flag] for name in competitions if seed < len(reports.get(name, []))]
        return sum(held) / len(competitions) * 100

    metrics = {"total_competitions": over_seeds([float(len(competitions))] * seeds)}
    for key, flag in FLAGS.items():
        metrics[key] = over_seeds([share(flag, seed) for seed in range(seeds)])
    return {"num_seeds_averaged": seeds, "num_competitions_per_seed": len(competitions), "metrics": metrics}


for line in sys.stdin:
    print(json.dumps(summary(json.loads(line))))
