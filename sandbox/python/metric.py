# Computes the metric of a competition of MLE-Dojo on a submission. GIVEN, a JSON text, is set above
# these lines; the answers are in `input/`, the metric's file and the parts of the submission in the
# work dir.
#
# The metric is a subclass of `mledojo.metrics.base.CompetitionMetrics`. That package is not
# installed: these few lines stand in for the two names that metrics import from it, so that nothing
# else of a checkout runs.
import io
import json
import runpy
import sys
import types


class CompetitionMetrics:
    def __init__(self, higher_is_better=True):
        self.higher_is_better = higher_is_better


class InvalidSubmissionError(Exception):
    pass


base = types.ModuleType("mledojo.metrics.base")
base.CompetitionMetrics = CompetitionMetrics
base.InvalidSubmissionError = InvalidSubmissionError
package, metrics = types.ModuleType("mledojo"), types.ModuleType("mledojo.metrics")
package.__path__, metrics.__path__ = [], []
package.metrics, metrics.base = metrics, base
metrics.CompetitionMetrics = CompetitionMetrics
metrics.InvalidSubmissionError = InvalidSubmissionError
sys.modules.update({"mledojo": package, "mledojo.metrics": metrics, "mledojo.metrics.base": base})

given = json.loads(GIVEN)
# What a metric prints is no part of the verdict.
verdict, sys.stdout = sys.stdout, sys.stderr
names = runpy.run_path(given["metric"], run_name="metric")
classes = [
    name
    for name in names.values()
    if isinstance(name, type) and issubclass(name, CompetitionMetrics) and name is not CompetitionMetrics
]
# The one that no other of the file builds on.
leaves = [c for c in classes if not any(c is not other and issubclass(other, c) for other in classes)]
if len(leaves) != 1:
    sys.exit(f"the file defines {len(leaves)} metrics, expected 1")
metric = leaves[0]()


def judge():
    import pandas as pd

    answers = pd.read_csv(given["answers"])
    data = b"".join(open(name, "rb").read() for name in given["parts"])
    try:
        submission = pd.read_csv(io.BytesIO(data))
    except (ValueError, UnicodeDecodeError, pd.errors.ParserError) as error:
        return {"invalid": f"it is no CSV table ({error})"}
    try:
        metric.validate_submission(submission, answers)
        return {"score": float(metric.evaluate(answers, submission))}
    except InvalidSubmissionError as error:
        return {"invalid": str(error)}


result = judge() if given["parts"] else {}
score = result.get("score")
if score is not None and (score != score or score in (float("inf"), float("-inf"))):
    result = {"score": None}
result["higher_is_better"] = bool(metric.higher_is_better)
verdict.write(json.dumps(result))
verdict.flush()
