"""Measures networks, one file of links each: size, degrees, triangles, groups, weights."""


def network(path):
    links = pd.read_csv(f"input/{path}")
    a, b = (links.iloc[:, i].astype(str) for i in (0, 1))
    weight = links.iloc[:, 2].to_numpy(float) if links.shape[1] > 2 else np.ones(len(links))
    pair = [tuple(sorted(ends)) for ends in zip(a, b)]
    rows = pd.DataFrame({"pair": pair, "weight": weight})
    out = {"lines": len(rows), "loops": sum(p == q for p, q in pair)}
    rows = rows[[p != q for p, q in pair]]
    out["repeated"] = len(rows) - rows["pair"].nunique()
    rows = rows.groupby("pair")["weight"].max()
    # Weights far below all others are not links at all.
    rows = rows[rows >= 0.2 * rows.median()]
    nodes = sorted({node for ends in rows.index for node in ends})
    place = {node: i for i, node in enumerate(nodes)}
    n = max(1, len(nodes))
    w = np.zeros((n, n))
    for (p, q), value in rows.items():
        w[place[p], place[q]] = w[place[q], place[p]] = value
    m = (w > 0).astype(float)
    degree, edges = m.sum(axis=0), m.sum() / 2
    triangles = np.diag(m @ m @ m) / 2
    wedges = degree * (degree - 1) / 2
    out.update(nodes=n, edges=edges, density=edges / max(1, n * (n - 1) / 2))
    out["degree"], out["degree spread"] = degree.mean(), degree.std()
    out["hub"], out["hub share"] = degree.max(), degree.max() / max(1, n - 1)
    out["leaves"] = (degree == 1).mean()
    top = np.sort(degree)[::-1]
    out["top three"] = top[:3].sum() / max(1, degree.sum())
    out["inequality"] = (degree**2).mean() / max(1e-9, degree.mean() ** 2)
    out["triangles"] = triangles.sum() / 3
    out["closure"] = triangles.sum() / max(1, wedges.sum())
    out["clustering"] = np.mean(triangles / np.maximum(1, wedges))
    out["triangle excess"] = np.log((triangles.sum() / 3 + 1) / (n * (n - 1) * (n - 2) / 6 * out["density"] ** 3 + 1))
    ends = np.nonzero(m)
    out["assortativity"] = np.corrcoef(degree[ends[0]], degree[ends[1]])[0, 1] if degree.std() > 0 and len(ends[0]) else 0.0
    strength = w.sum(axis=0)
    values = rows.to_numpy(float)
    out["weight"], out["weight spread"] = values.mean(), values.std()
    out["weight median"], out["weight top"] = np.median(values), np.quantile(values, 0.9)
    out["weight share"] = np.sort(values)[::-1][: max(1, len(values) // 10)].sum() / max(1e-9, values.sum())
    both = degree[[place[p] for p, _ in rows.index]] + degree[[place[q] for _, q in rows.index]]
    out["weight and degree"] = np.corrcoef(values, both)[0, 1] if values.std() > 0 and both.std() > 0 else 0.0
    shared = np.array([(m @ m)[place[p], place[q]] for p, q in rows.index])
    out["weight and triangles"] = np.corrcoef(values, shared)[0, 1] if values.std() > 0 and shared.std() > 0 else 0.0
    out["bridges"] = (shared == 0).mean()
    # The letter in a node's name is its kind.
    kind = np.array(["".join(c for c in node if c.isalpha()) for node in nodes])
    same = np.array([kind[place[p]] == kind[place[q]] for p, q in rows.index])
    shares = pd.Series(kind).value_counts(normalize=True)
    out["kinds"], out["main kind"] = len(shares), shares.iloc[0]
    out["same kind"] = same.mean()
    out["homophily"] = same.mean() - (shares**2).sum()
    out["weight same kind"] = (values[same].mean() if same.any() else 0) - (values[~same].mean() if (~same).any() else 0)
    out["strength same kind"] = values[same].sum() / max(1e-9, values.sum())
    for name in sorted(shares.index)[:4]:
        out[f"kind {name}"] = shares[name]
        out[f"kind {name} degree"] = degree[kind == name].mean() / max(1e-9, degree.mean())
    # Peeling: the deepest core, and how many lie in it.
    core, left, k = np.zeros(n), np.ones(n, bool), 0
    while left.any():
        live = m[left][:, left].sum(axis=0)
        gone = np.nonzero(left)[0][live <= k]
        if len(gone):
            core[gone], left[gone] = k, False
        else:
            k += 1
    out["core"], out["core mean"], out["core size"] = core.max(), core.mean(), (core == core.max()).mean()
    laplace = np.linalg.eigvalsh(np.diag(degree) - m)
    out["parts"] = (laplace < 1e-8).sum()
    out["split"] = laplace[min(n - 1, out["parts"])] if n > 1 else 0.0
    spectrum = np.linalg.eigvalsh(m)
    out["largest eigenvalue"], out["second eigenvalue"] = spectrum[-1], spectrum[max(-n, -2)]
    far = np.where(m > 0, 1.0, np.inf)
    np.fill_diagonal(far, 0)
    for i in range(n):
        far = np.minimum(far, far[:, i : i + 1] + far[i])
    near = far[np.isfinite(far) & (far > 0)]
    out["distance"], out["diameter"] = (near.mean(), near.max()) if len(near) else (0.0, 0.0)
    out["strength spread"] = strength.std() / max(1e-9, strength.mean())
    return out


for name in files:
    drawn = pd.DataFrame([network(path) if isinstance(path, str) else {} for path in x[name]])
    drawn = drawn.fillna(drawn[:N].median()).fillna(0.0)
    columns.update({f"{name}: {key}": drawn[key] for key in drawn})

