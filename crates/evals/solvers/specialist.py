"""Solver `specialist`: the engineer who has met such media. More features of items, products and ratios
of columns and deviations from groups, chosen inside the folds; six models, stacked."""


def aims(y):
    """Targets as numbers, a column per class or target, with mean 0 and spread 1."""
    values = np.eye(class_count())[y[:, 0]] if is_classes() else np.asarray(y, float)
    return (values - values.mean(axis=0)) / (values.std(axis=0) + 1e-6)


def ranked(a, y, count):
    """Columns by how far they go along with any target, near copies left out."""
    z = (a - a.mean(axis=0)) / (a.std(axis=0) + 1e-6)
    strength = np.abs(z.T @ aims(y) / len(z)).max(axis=1)
    kept = []
    for column in np.argsort(-strength)[: 6 * count]:
        if all(abs(z[:, column] @ z[:, other]) / len(z) < 0.97 for other in kept):
            kept.append(column)
        if len(kept) == count:
            break
    return kept


def crosses(a, b, columns):
    """Products, ratios, squares, and cuts of some columns, in this order, of both sides."""
    left, right = np.triu_indices(len(columns), 1)
    out = []
    mean, spread = a[:, columns].mean(axis=0), a[:, columns].std(axis=0) + 1e-6
    least = a[:, columns].min(axis=0)
    for rows in (a, b):
        u = np.clip((rows[:, columns] - mean) / spread, -5, 5)
        # Ratios are taken of values that are above 0.
        up = np.maximum(rows[:, columns] - np.where(least > 0, 0, least - 0.5 * spread), 0.05 * spread)
        logs = np.log(up)
        parts = [u[:, left] * u[:, right], logs[:, left] - logs[:, right], u**2, u > 0.5, u < -0.5]
        parts += [np.maximum(u[:, left], u[:, right]), np.minimum(u[:, left], u[:, right])]
        # One column where another is high.
        parts += [u[:, left] * (u[:, right] > 0), u[:, right] * (u[:, left] > 0)]
        out.append(np.hstack(parts).astype(float))
    return out


def with_crosses(a, y, b, base=14, most=25):
    """The columns and those of their crosses that explain what a line leaves, chosen one by one."""
    keep = ranked(a, y, 60)
    some = keep[:base]
    more_a, more_b = crosses(a, b, some)
    u, v = scaled(a[:, keep], b[:, keep])
    c, d = scaled(more_a, more_b)
    aim = aims(y)
    chosen = []
    for _ in range(most // 5):
        design = np.hstack([u, c[:, chosen]])
        weight = np.linalg.solve(design.T @ design + 0.1 * len(u) * np.eye(design.shape[1]), design.T @ aim)
        rest = aim - design @ weight
        gain = np.abs(c.T @ rest / len(c)).max(axis=1)
        gain[chosen] = 0
        # A few at a time, no two alike.
        for column in np.argsort(-gain)[:40]:
            if all(abs(c[:, column] @ c[:, other]) / len(c) < 0.9 for other in chosen[-5:]):
                chosen.append(column)
                if len(chosen) % 5 == 0:
                    break
    return np.hstack([u, c[:, chosen]]), np.hstack([v, d[:, chosen]])


def crossed_line(a, y, b):
    return line(*swap(with_crosses(a, y, b), y))


def crossed_trees(a, y, b):
    return trees(*swap(with_crosses(a, y, b), y))


def swap(sides, y):
    return sides[0], y, sides[1]


def smooth_surface(a, y, b):
    """Kernel ridge regression on a few columns: smooth in all of them together. Width and penalty are
    chosen by the closed form of leaving one row out."""
    keep = ranked(a, y, 12)
    u, v = scaled(a[:, keep], b[:, keep])
    aim = np.eye(class_count())[y[:, 0]] if is_classes() else np.asarray(y, float)
    mean, spread = aim.mean(axis=0), aim.std(axis=0) + 1e-6
    z = (aim - mean) / spread

    def apart(one, other):
        return np.maximum(0, (one**2).sum(axis=1)[:, None] + (other**2).sum(axis=1) - 2 * one @ other.T)

    near, far = apart(u, u), apart(v, u)
    best = None
    for width in (0.25, 0.5, 1.0):
        gamma = width / (2 * len(keep))
        values, vectors = np.linalg.eigh(np.exp(-gamma * near))
        for penalty in (0.1, 0.3, 1.0, 3.0):
            inverse = vectors / (np.maximum(values, 0) + penalty) @ vectors.T
            weight = inverse @ z
            lost = ((weight / np.diag(inverse)[:, None]) ** 2).sum()
            if best is None or lost < best[0]:
                best = lost, gamma, weight
    _, gamma, weight = best
    values = np.exp(-gamma * far) @ weight * spread + mean
    if is_classes():
        return normal(np.clip(values, 0.01, None))
    return np.clip(values, 0.005, 0.995) if has_classes() else values


def group_columns(columns):
    """How far a row's numbers are from those of its category."""
    out = {}
    for word in [name for name in WORDS if 2 <= both[name].nunique() <= 30][:4]:
        for name in NUMBERS[:10]:
            if name in columns:
                values = pd.Series(np.asarray(columns[name], float))
                out[f"{name} in {word}"] = (
                    values - values.groupby(both[word]).transform("median")
                ).to_numpy()
        for other in [name for name in WORDS if name != word and both[name].nunique() <= 6][:3]:
            pair = both[word].astype(str) + "/" + both[other].astype(str)
            for kind in pair.value_counts().index[:12]:
                out[f"{word}/{other}={kind}"] = (pair == kind).astype(float).to_numpy()
        kinds = both[word].value_counts().index[:3]
        for kind in kinds if both[word].nunique() <= 6 else []:
            for name in NUMBERS[:10]:
                if name in columns:
                    values = pd.Series(np.asarray(columns[name], float))
                    values = (values - values.median()).fillna(0)
                    out[f"{name} if {word}={kind}"] = (values * (both[word] == kind)).to_numpy()
    return out


def lag_columns(columns):
    """Further lags of drivers, and each of them while a category holds."""
    out = {}
    step = both[STEP].astype(float)
    group = both[SERIES].astype(str) if SERIES else pd.Series("all", both.index)
    order = both.assign(_g=group, _s=step).sort_values(["_g", "_s"]).index
    for name in [name for name in NUMBERS if name in columns][:8]:
        ordered = (
            pd.Series(np.asarray(columns[name], float))
            .interpolate(limit_direction="both")
            .loc[order]
            .groupby(group.loc[order])
        )
        for lag in (1, 2, 3, 4):
            shifted = ordered.shift(lag).bfill().reindex(both.index)
            out[f"{name} lag {lag}"] = shifted.to_numpy()
            for word in [w for w in WORDS if w != SERIES and both[w].nunique() <= 4][:2]:
                kind = both[word].value_counts().index[0]
                out[f"{name} lag {lag} if {word}"] = (
                    (shifted - shifted.mean()) * (both[word] == kind)
                ).to_numpy()
        out[f"{name} sum"] = ordered.cumsum().reindex(both.index).to_numpy()
    return out


def long_boosted(a, y, b):
    options = {
        "n_estimators": 220,
        "learning_rate": 0.06,
        "num_leaves": 24,
        "min_child_samples": 20,
        "subsample": 0.8,
        "subsample_freq": 1,
        "colsample_bytree": 0.4,
        "n_jobs": 1,
        "verbose": -1,
        "random_state": SEED,
    }
    if is_classes():
        return per_column(lambda: LGBMClassifier(**options), a, y, b)
    loss = "l1" if METRIC == "mae" else "l2"
    fits = [LGBMRegressor(objective=loss, **options).fit(a, column) for column in y.T]
    return np.column_stack([model.predict(b) for model in fits])


def special_along():
    """Positions of sequences: wider windows, and what looks far along the sequence."""
    y = truth()
    x = pd.concat([ordinary(y), framed({**window_columns(4), **far_columns()})], axis=1)
    x = x.loc[:, ~x.columns.duplicated()].to_numpy(float)
    hand_in(*crossed(long_boosted, x, y, folds_of(y)))


def special():
    load()
    if LISTS:
        return special_along()
    if KIND == "mask":
        return plain_masks(rich=True)
    if KIND == "boxes":
        return plain_boxes(rich=True)
    if KIND == "pixels":
        return plain_pixels(reach=3, rich=True)
    y = truth()
    x = ordinary(y)
    plain = {name: x[name] for name in x}
    more = {**structures(), **group_columns(plain)}
    if STEP:
        more.update(lag_columns(plain))
    more = framed(more) if more else pd.DataFrame(index=x.index)
    x = pd.concat([x, more.loc[:, [name for name in more if name not in x]]], axis=1).to_numpy(float)
    fold = folds_of(y)
    aim, back = (
        (to_scale(y), lambda values: from_scale(values, y)) if on_logs(y) else (y, lambda values: values)
    )
    held, ahead = [], []
    for model in (line, crossed_line, trees, crossed_trees, boosted, smooth_surface):
        if len(held) > 1 and left() < 25:
            break
        a, b = crossed(model, x, aim, fold)
        held.append(back(a))
        ahead.append(back(b))
    weights = weights_of(held, y)
    print("weights", np.round(weights, 2))
    held, ahead = np.tensordot(weights, held, 1), np.tensordot(weights, ahead, 1)
    hand_in(held, ahead, widths_of(y, held, x, fold))


def engineers_way():
    load()
    y = truth()
    x = ordinary(y).to_numpy(float)
    fold = folds_of(y)
    pairs = [crossed(model, x, y, fold) for model in (line, trees)]
    hand_in(np.mean([held for held, _ in pairs], axis=0), np.mean([ahead for _, ahead in pairs], axis=0))


solve_by(special, engineers_way, constant)
