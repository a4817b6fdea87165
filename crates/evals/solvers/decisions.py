"""Scores as the page names them, the best constant for each, and predictions tuned to a score."""

from sklearn import metrics as sk

EPS = 1e-9


def number_score(y, p):
    """The value of a metric of numbers, larger for better ones."""
    if METRIC in ("rmse", "mcrmse", "r2", ""):
        return -np.sqrt(np.mean((y - p) ** 2))
    if METRIC == "mae":
        return -np.abs(y - p).mean()
    if METRIC == "median_ae":
        return -np.median(np.abs(y - p))
    if METRIC == "rmsle":
        return -np.sqrt(np.mean((np.log1p(np.maximum(y, EPS - 1)) - np.log1p(np.maximum(p, EPS - 1))) ** 2))
    if METRIC == "mape":
        return -np.mean(np.abs(y - p) / np.maximum(np.abs(y), EPS))
    if METRIC == "smape":
        return -np.mean(2 * np.abs(y - p) / np.maximum(np.abs(y) + np.abs(p), EPS))
    if METRIC in ("pearson", "spearman"):
        a, b = pd.Series(y), pd.Series(p)
        if b.nunique() < 2:
            return 0.0
        return a.corr(b, method=METRIC)
    return -np.mean((y - p) ** 2)


def best_number(y):
    """The constant with the best score on the training rows."""
    tries = [y.mean(), *np.quantile(y, np.linspace(0.05, 0.95, 37))]
    if (y > -1).all():
        tries.append(np.expm1(np.log1p(y).mean()))
    scores = [number_score(y, np.full(len(y), value)) for value in tries]
    return tries[int(np.argmax(scores))]


def class_names():
    """The classes, in the page's order if it gives one."""
    known = raw[TARGET]
    if KIND == "class_probabilities":
        return list(OUT)
    listed = re.search(r"from low to high: ((?:`[^`]+`(?:, )?(?:and )?)+)", COLUMNS.get(TARGET, ("", ""))[1])
    ordered = re.findall(r"`([^`]+)`", listed.group(1)) if listed else []
    found = sorted(known.unique(), key=lambda name: (float(name) if looks_like_numbers(known) else 0, name))
    return ordered if set(found) <= set(ordered) else found


def flag_names():
    listed = re.search(r"out of ((?:`[^`]+`(?:, )?(?:and )?)+)", PAGE)
    told = re.findall(r"`([^`]+)`", listed.group(1)) if listed else []
    return sorted(set(" ".join(raw[TARGET]).split()) | set(told))


def truth():
    """The targets as numbers, a row each: values, class indices, or a column per label."""
    if KIND in ("number", "numbers", "quantiles", "relevance"):
        return train[TARGETS].to_numpy(float)
    if KIND in ("probability", "probabilities"):
        return train[TARGETS].to_numpy(float).astype(int)
    if KIND in ("label", "class_probabilities"):
        places = {name: place for place, name in enumerate(class_names())}
        return raw[TARGET].map(places).to_numpy(int)[:, None]
    if KIND == "flags":
        cells = raw[TARGET].str.split()
        return np.array([[name in cell for name in flag_names()] for cell in cells], int)
    raise Unknown(f"targets of the form {KIND}")


def is_classes():
    return KIND in ("label", "class_probabilities", "probability")


def label_score(y, p):
    """The value of a metric of labels, by the indices of classes."""
    if METRIC == "f1":
        return sk.f1_score(y, p, zero_division=0, labels=[1], average="macro")
    if METRIC in ("macro_f1", "weighted_f1", "micro_f1"):
        return sk.f1_score(y, p, average=METRIC.split("_")[0], zero_division=0)
    if METRIC == "balanced_accuracy":
        return sk.balanced_accuracy_score(y, p)
    if METRIC == "mcc":
        return sk.matthews_corrcoef(y, p)
    if METRIC == "quadratic_kappa":
        value = sk.cohen_kappa_score(y, p, weights="quadratic")
        return 0.0 if np.isnan(value) else value
    if METRIC == "macro_jaccard":
        return sk.jaccard_score(y, p, average="macro", zero_division=0)
    return sk.accuracy_score(y, p)


def flag_score(y, p):
    average = (
        METRIC.split("_")[0]
        if METRIC.split("_")[0] in ("macro", "micro", "weighted", "samples")
        else "samples"
    )
    if METRIC.endswith("jaccard"):
        return sk.jaccard_score(y, p, average=average, zero_division=0)
    if METRIC == "accuracy":
        return (y == p).all(axis=1).mean()
    return sk.f1_score(y, p, average=average, zero_division=0)


def smooth(values):
    """Means with neighbours: the best of many cuts on few rows is mostly luck."""
    return np.convolve(np.pad(values, 1, mode="edge"), [0.25, 0.5, 0.25], "valid")


def normal(p):
    p = np.clip(p, 1e-4, None)
    return p / p.sum(axis=1, keepdims=True)


def choose_labels(y, held, ahead):
    """Class indices for `ahead`, by the rule that scores best on the rows of `held`."""
    k = held.shape[1]
    if METRIC == "quadratic_kappa":
        # The expected class, cut where the training classes' shares cut it.
        scale = np.arange(k)
        cuts = np.quantile(held @ scale, np.cumsum(np.bincount(y, minlength=k) / len(y))[:-1])
        return np.searchsorted(cuts, ahead @ scale)
    prior = (np.bincount(y, minlength=k) + 0.5) / (len(y) + 0.5 * k)
    if k == 2:
        cuts = np.linspace(0.1, 0.9, 33)
        scores = smooth(np.array([label_score(y, (held[:, 1] > cut).astype(int)) for cut in cuts]))
        return (ahead[:, 1] > cuts[scores.argmax()]).astype(int)
    tries = np.linspace(0, 1, 11)
    scores = smooth(np.array([label_score(y, (held / prior**power).argmax(axis=1)) for power in tries]))
    return (ahead / prior ** tries[scores.argmax()]).argmax(axis=1)


def choose_flags(y, held, ahead):
    """Labels that hold: one cut for all, or as many as the score asks for."""
    cuts = np.linspace(0.1, 0.7, 25)
    scores = smooth(np.array([flag_score(y, (held > cut).astype(int)) for cut in cuts]))
    return (ahead > cuts[scores.argmax()]).astype(int)


def pinball(y, ends):
    """The loss of quantiles, a column for each of the levels."""
    return np.mean([np.maximum(a * (y - q), (a - 1) * (y - q)).mean() for a, q in zip(LEVELS, ends.T)])


def quantiles_around(held, ahead, widths):
    """Quantiles of the rows ahead: their values, and what values leave of the training rows, in those
    widths of rows that lose the least there."""
    y, best = truth()[:, 0], None
    for near, far in widths:
        ends = np.quantile((y - held[:, 0]) / near, LEVELS)
        loss = pinball(y, held[:, :1] + near[:, None] * ends)
        if best is None or loss < best[0]:
            best = loss, ahead[:, :1] + far[:, None] * ends
    return best[1]


def hand_in(held, ahead, widths=()):
    """Turns numbers or probabilities of the test rows into a submission. `held` has the same of the
    training rows, each from a model that has not seen the row; classes have a column each. `widths` are
    guesses at how far rows lie from their numbers, on both sides."""
    if KIND in ("number", "numbers", "relevance"):
        values = ahead
        if METRIC == "rmsle":
            values = np.maximum(values, EPS - 1 if (truth() < 0).any() else 0.0)
        submit({name: values[:, place] for place, name in enumerate(OUT)})
    elif KIND == "quantiles":
        values = quantiles_around(held, ahead, [(np.ones(N), np.ones(len(test))), *widths])
        submit({name: values[:, place] for place, name in enumerate(OUT)})
    elif KIND == "probability":
        submit({OUT[0]: np.clip(ahead[:, 1], 1e-4, 1 - 1e-4)})
    elif KIND == "probabilities":
        submit({name: np.clip(ahead[:, place], 1e-4, 1 - 1e-4) for place, name in enumerate(OUT)})
    elif KIND == "class_probabilities":
        values = normal(ahead)
        submit({name: values[:, place] for place, name in enumerate(OUT)})
    elif KIND == "label":
        chosen = choose_labels(truth()[:, 0], held, ahead)
        submit({OUT[0]: np.array(class_names(), object)[chosen]})
    elif KIND == "flags":
        chosen = choose_flags(truth(), held, ahead)
        labels = flag_names()
        submit({OUT[0]: [" ".join(label for label, holds in zip(labels, row) if holds) for row in chosen]})
    else:
        raise Unknown(f"predictions of the form {KIND}")


def numbers_of(cell):
    return np.array(cell.split(), float)


def picture_size():
    """Width and height of the pictures that the training rows name."""
    from PIL import Image

    if not FILES:
        raise Unknown("pictures that no column names")
    return Image.open(f"input/{train[FILES[0]].iloc[0]}").size


def decoded(cell, size):
    """A mask from run lengths: pixels count from 1, down the columns."""
    width, height = size
    mask = np.zeros(width * height, bool)
    runs = [int(word) for word in cell.split()]
    for start, length in zip(runs[::2], runs[1::2]):
        mask[start - 1 : start - 1 + length] = True
    return mask.reshape(width, height).T


def encoded(mask):
    padded = np.concatenate([[0], mask.T.ravel().astype(int), [0]])
    turns = np.nonzero(np.diff(padded))[0]
    return " ".join(f"{a + 1} {b - a}" for a, b in zip(turns[::2], turns[1::2]))


def boxes_of(cell):
    """(class, x, y, w, h) of each box of a training row."""
    words = cell.split()
    return [(words[at], *map(float, words[at + 1 : at + 5])) for at in range(0, len(words), 5)]


def constant():
    """The best constant submission for the metric."""
    rows = len(test)
    if KIND == "number" or KIND == "numbers":
        if METRIC in ("pearson", "spearman"):
            copy_sample()
            return
        submit({name: np.full(rows, best_number(train[name].to_numpy(float))) for name in OUT})
    elif KIND == "quantiles":
        ends = np.quantile(train[TARGET].to_numpy(float), LEVELS)
        submit({name: np.full(rows, end) for name, end in zip(OUT, ends)})
    elif KIND == "relevance":
        submit({OUT[0]: np.zeros(rows)})
    elif KIND in ("probability", "probabilities"):
        submit({name: np.full(rows, np.clip(train[name].mean(), 0.001, 0.999)) for name in OUT})
    elif KIND == "class_probabilities":
        shares = normal(np.bincount(truth()[:, 0], minlength=len(OUT))[None] + 0.5)[0]
        submit({name: np.full(rows, share) for name, share in zip(OUT, shares)})
    elif KIND == "label":
        y, classes = truth()[:, 0], class_names()
        scores = [label_score(y, np.full(len(y), place)) for place in range(len(classes))]
        submit({OUT[0]: [classes[int(np.argmax(scores))]] * rows})
    elif KIND == "flags":
        y, labels = truth(), flag_names()
        order = (-y.mean(axis=0)).argsort(kind="stable")
        tries = []
        for count in range(len(labels) + 1):
            row = np.zeros(len(labels), int)
            row[order[:count]] = 1
            tries.append((flag_score(y, np.tile(row, (len(y), 1))), count))
        held = sorted(order[: max(tries)[1]])
        submit({OUT[0]: [" ".join(labels[place] for place in held)] * rows})
    elif KIND == "mask":
        size = picture_size()
        share = np.mean([decoded(cell, size) for cell in raw[TARGET]], axis=0)
        submit({OUT[0]: [encoded(share >= min(0.5, share.max()))] * rows})
    elif KIND == "boxes":
        found = [box for cell in raw[TARGET] for box in boxes_of(cell)]
        name = pd.Series([box[0] for box in found]).mode()[0]
        middle = np.median([box[1:] for box in found], axis=0)
        submit({OUT[0]: [f"{name} 0.5 " + " ".join(f"{value:.2f}" for value in middle)] * rows})
    elif KIND == "pixels":
        stack = np.stack([numbers_of(cell) for cell in raw[TARGET]])
        middle = np.median(stack, axis=0) if METRIC == "mae" else stack.mean(axis=0)
        submit({OUT[0]: [" ".join(map(str, np.round(middle).astype(int)))] * rows})
    else:
        raise Unknown(f"predictions of the form {KIND}")
