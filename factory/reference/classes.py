"""One of two or more classes: a label or probabilities, as the sample and the metric ask."""
from sklearn import metrics
from sklearn.linear_model import LogisticRegression

target = TARGETS[0]
known = train[target].astype(str)
classes = sorted(known.unique())
if sample.shape[1] > 2:
    classes = list(sample.columns[1:])
listed = re.search(r"training file only; from low to high: ((?:`[^`]+`(?:, )?)+)", page)
if METRIC == "quadratic_kappa" and listed:
    classes = re.findall(r"`([^`]+)`", listed.group(1))
y = known.map({name: i for i, name in enumerate(classes)}).to_numpy()
k = len(classes)
Y = np.eye(k)[y][:, 1:] if k == 2 else np.eye(k)[y]
unseen, predicted = blend(Y)

# Fitted numbers become probabilities that hold on rows which were left out.
calibration = LogisticRegression(C=3.0, max_iter=1000).fit(unseen, y)
p, q = calibration.predict_proba(unseen), calibration.predict_proba(predicted)

if METRIC in ("roc_auc", "average_precision", "log_loss", "brier", "ovr_auc"):
    if k == 2 and sample.shape[1] == 2:
        submit({target: q[:, 1]})
    else:
        submit({name: q[:, i] for i, name in enumerate(classes)})
else:
    scores = {
        "accuracy": metrics.accuracy_score,
        "balanced_accuracy": metrics.balanced_accuracy_score,
        "f1": lambda y, p: metrics.f1_score(y, p, zero_division=0),
        "macro_f1": lambda y, p: metrics.f1_score(y, p, average="macro", zero_division=0),
        "weighted_f1": lambda y, p: metrics.f1_score(y, p, average="weighted", zero_division=0),
        "micro_f1": metrics.accuracy_score,
        "mcc": metrics.matthews_corrcoef,
        "quadratic_kappa": lambda y, p: metrics.cohen_kappa_score(y, p, weights="quadratic"),
    }
    score = scores.get(METRIC, metrics.accuracy_score)
    if METRIC == "quadratic_kappa":
        # Cut the expected class where the training classes' shares cut it.
        spread, ahead = p @ np.arange(k), q @ np.arange(k)
        cuts = np.quantile(spread, np.cumsum(np.bincount(y, minlength=k) / N)[:-1])
        guess = np.searchsorted(cuts, ahead)
    else:
        prior = np.bincount(y, minlength=k) / N
        tries = np.linspace(0, 1, 11)
        # Smoothed over neighbours: the best of many thresholds on few rows is mostly luck.
        found = np.array([score(y, (p / prior**t).argmax(axis=1)) for t in tries])
        found = np.convolve(np.pad(found, 1, mode="edge"), [0.25, 0.5, 0.25], "valid")
        guess = (q / prior ** tries[found.argmax()]).argmax(axis=1)
    submit({target: np.array(classes)[guess]})
