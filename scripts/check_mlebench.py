#!/usr/bin/env python3
"""Grades submissions by the original `mlebench grade` and by `sandbox grade`, and compares.

    scripts/check_mlebench.py CHECKOUT [--bin target/release] [--corpus FOLDER] [--out FOLDER]

CHECKOUT is one of github.com/openai/mle-bench. Its Python needs what `mlebench grade` imports:

    uv venv --python 3.11 .venv-mlebench
    uv pip install --python .venv-mlebench/bin/python appdirs==1.4.4 diskcache==5.6.3 \\
        pandas==2.3.3 py7zr==1.1.4 pyyaml==6.0.3 tenacity==9.2.1 tqdm==4.70.1 scikit-learn==1.7.2

Each task of the corpus, 84 of all kinds unless another is given, has up to five submissions: the
sample, the sample with its values in another order, the answers where the sample asks for the
columns that they have, half of these, and the sample without its last row. Validity, score,
thresholds and medals must be equal. Ends with 1 where one is not.
"""

import argparse
import csv
import json
import random
import shutil
import subprocess
import sys
from pathlib import Path


def submissions(task: Path, out: Path) -> list[Path]:
    """Writes the submissions for a task as `factory export` has it."""
    with (task / "public/sample_submission.csv").open(newline="") as file:
        header, *sample = csv.reader(file)
    with (task / "private/answer.csv").open(newline="") as file:
        answer_header, *answers = csv.reader(file)
    draws = random.Random(task.parent.name)
    values = [row[1:] for row in sample]
    draws.shuffle(values)
    kinds = {
        "sample": sample,
        "shuffled": [[row[0], *other] for row, other in zip(sample, values, strict=True)],
        "short": sample[:-1],
    }
    if set(header) <= set(answer_header):
        places = [answer_header.index(name) for name in header]
        truth = {row[places[0]]: [row[place] for place in places] for row in answers}
        kinds["answers"] = [truth[row[0]] for row in sample]
        kinds["half"] = [truth[row[0]] if draws.random() < 0.5 else row for row in sample]
    paths = []
    for kind, rows in kinds.items():
        path = out / f"{task.parent.name}-{kind}.csv"
        with path.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([header, *rows])
        paths.append(path)
    return paths


def same(ours: dict, theirs: dict) -> bool:
    """Whether both say the same of a submission. MLE-bench rounds scores to five decimals."""
    medals = {medal: theirs[f"{medal}_medal"] for medal in ("gold", "silver", "bronze")}
    own = {medal: ours["tier"] == medal for medal in medals}
    score = None if ours["score"] is None else round(ours["score"], 5)
    return (
        ours["valid"] == theirs["valid_submission"]
        and score == (None if theirs["score"] is None else round(theirs["score"], 5))
        and own == medals
        and (ours["tier"] is not None) == theirs["above_median"]
        and ours["is_lower_better"] == theirs["is_lower_better"]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--bin", type=Path, default=Path("target/release"))
    parser.add_argument("--python", type=Path, default=Path(".venv-mlebench/bin/python"))
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--out", type=Path, default=Path("generated/check-mlebench"))
    args = parser.parse_args()
    if not (args.checkout / "mlebench/grade.py").is_file():
        parser.error(f"`{args.checkout}` is no checkout of MLE-bench: it has no mlebench/grade.py")
    if not args.python.is_file():
        parser.error(f"there is no Python at `{args.python}`; --help says how to make one")
    out = args.out.resolve()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)

    corpus = args.corpus or out / "corpus"
    if args.corpus is None:
        command = [args.bin / "factory", "generate", "--seeds", "mlebench", "--count", "84"]
        # 3: slots stayed empty, and the other tasks are there.
        if subprocess.run([*command, "--seed", "31", "--out", corpus]).returncode not in (0, 3):
            return 1
    export = out / "export"
    subprocess.run([args.bin / "factory", "export", corpus, export], check=True)
    checkout = out / "checkout"
    shutil.copytree(args.checkout / "mlebench", checkout / "mlebench", dirs_exist_ok=True)
    for folder in ("mlebench", "experiments"):
        shutil.copytree(export / folder, checkout / folder, dirs_exist_ok=True)

    folder = out / "submissions"
    folder.mkdir()
    asked: list[tuple[str, Path]] = []
    for task in sorted((export / "data").iterdir()):
        asked += [(task.name, path) for path in submissions(task / "prepared", folder)]
    lines = [json.dumps({"competition_id": id, "submission_path": str(path)}) for id, path in asked]
    (out / "submissions.jsonl").write_text("\n".join(lines) + "\n")
    grade = [args.python.absolute(), "-c", "from mlebench.cli import main; main()", "grade"]
    grade += ["--submission", out / "submissions.jsonl", "--output-dir", out / "reports"]
    subprocess.run([*grade, "--data-dir", export / "data"], cwd=checkout, check=True)
    (report,) = (out / "reports").glob("*.json")
    theirs = json.loads(report.read_text())["competition_reports"]

    different, valid = 0, 0
    for (id, path), their in zip(asked, theirs, strict=True):
        command = [args.bin / "sandbox", "grade", corpus / id, path, "--json"]
        ours = json.loads(subprocess.run(command, capture_output=True, text=True).stdout)
        valid += ours["valid"]
        if not same(ours, their):
            different += 1
            print(f"{path.name}:\n  ours   {ours}\n  theirs {their}", file=sys.stderr)
    tasks = len({id for id, _ in asked})
    print(f"{len(asked)} submissions to {tasks} tasks, {valid} of them valid: {different} differences")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
