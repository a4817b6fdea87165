"""Measures networks, one file of links each, all at once: degrees, triangles, kinds, directions,
weights."""


def networks(paths):
    """Weights of links, [network, from, to], padded to the largest, and each node's kind."""
    texts = [open(f"input/{path}").read().split("\n", 1)[1] for path in paths]
    lines = [text.split() for text in texts]
    links = pd.DataFrame([line.split(",") for every in lines for line in every])
    owner = np.repeat(np.arange(len(paths)), [len(every) for every in lines])
    a, b = links[0] + "@" + owner.astype(str), links[1] + "@" + owner.astype(str)
    weight = links[2].to_numpy(float) if links.shape[1] > 2 else np.ones(len(links))
    nodes = pd.Index(pd.unique(pd.concat([a, b])))
    nodes = nodes[np.argsort(nodes.str.partition("@").get_level_values(2).astype(int), kind="stable")]
    home = nodes.str.partition("@").get_level_values(2).astype(int).to_numpy()
    first = np.searchsorted(home, np.arange(len(paths)))
    most = np.bincount(home, minlength=len(paths)).max()
    place = np.arange(len(nodes)) - first[home]
    rows, cells = place[nodes.get_indexer(a)], place[nodes.get_indexer(b)]
    repeated = np.bincount(owner, minlength=len(paths))
    out = np.zeros((len(paths), most, most))
    np.maximum.at(out, (owner, rows, cells), weight)
    out[:, np.arange(most), np.arange(most)] = 0
    # Weights far below all others are not links at all.
    usual = np.nanmedian(np.where(out > 0, out, np.nan), axis=(1, 2), keepdims=True)
    out[out < 0.2 * usual] = 0
    kinds = np.full((len(paths), most), "", object)
    kinds[home, place] = nodes.str.partition("@").get_level_values(0).str.replace(r"\d+", "", regex=True)
    return out, kinds, repeated - (out > 0).sum(axis=(1, 2))


def correlation(a, b, weight):
    """Of numbers in the last axes, weighted; 0 where one of them is constant."""
    total = np.maximum(1e-9, weight.sum(axis=(1, 2)))
    mean = lambda v: (v * weight).sum(axis=(1, 2)) / total
    a, b = a - mean(a)[:, None, None], b - mean(b)[:, None, None]
    spread = np.sqrt(mean(a * a) * mean(b * b))
    return np.where(spread > 1e-9, mean(a * b) / np.maximum(1e-9, spread), 0.0)


def measured(weights, kinds):
    w = np.maximum(weights, weights.transpose(0, 2, 1))
    m, directed = (w > 0).astype(float), (weights > 0).astype(float)
    degree = m.sum(axis=2)
    there = degree > 0
    n = np.maximum(1, there.sum(axis=1))
    edges = np.maximum(1, degree.sum(axis=1) / 2)
    mean = lambda values: (values * there).sum(axis=1) / n
    spread = lambda values: np.sqrt(np.maximum(0, mean(values**2) - mean(values) ** 2))
    ranked = np.sort(degree, axis=1)[:, ::-1]
    out = {"nodes": n, "edges": edges, "degree": mean(degree), "degree spread": spread(degree)}
    out["hub"], out["hub share"] = ranked[:, 0], ranked[:, 0] / n
    out["top three"] = ranked[:, :3].sum(axis=1) / (2 * edges)
    out["leaves"] = mean(degree == 1)
    out["inequality"] = mean(degree**2) / mean(degree) ** 2
    common = m @ m
    closed = (common * m).sum(axis=2)
    wedges = degree * (degree - 1)
    out["triangles"] = closed.sum(axis=1) / 6
    out["closure"] = closed.sum(axis=1) / np.maximum(1, wedges.sum(axis=1))
    out["clustering"] = mean(closed / np.maximum(1, wedges))
    out["triangles per node"] = out["triangles"] / n
    out["triangles per link"] = out["triangles"] / edges
    out["assortativity"] = correlation(degree[:, :, None] + 0 * m, degree[:, None] + 0 * m, m)
    out["bridges"] = ((common == 0) * m).sum(axis=(1, 2)) / (2 * edges)
    # Directions: how many links run both ways, who sends and who receives.
    both = (directed * directed.transpose(0, 2, 1)).sum(axis=(1, 2)) / 2
    out["both ways"], out["both ways share"] = both, both / edges
    sent, received = directed.sum(axis=2), directed.sum(axis=1)
    out["sent spread"], out["received spread"] = spread(sent), spread(received)
    out["balance"] = mean(np.abs(sent - received)) / mean(degree)
    out["sent inequality"], out["received inequality"] = mean(sent**2) / mean(sent) ** 2, mean(received**2) / mean(received) ** 2
    out["sources"], out["sinks"] = mean(received == 0), mean(sent == 0)
    uphill = (degree[:, :, None] < degree[:, None]) * 1.0 - (degree[:, :, None] > degree[:, None])
    out["to hubs"] = (uphill * directed).sum(axis=(1, 2)) / edges
    cycles = np.einsum("nij,nji->n", directed @ directed, directed)
    out["cycles"] = cycles / np.maximum(1, closed.sum(axis=1))
    # Weights, and what they go with.
    links = np.where(directed > 0, weights, 0)
    values = np.where(directed > 0, weights, np.nan).reshape(len(w), -1)
    out["weight"], out["weight spread"] = np.nanmean(values, axis=1), np.nanstd(values, axis=1)
    logarithms = np.log(values)
    out["weight scale"], out["weight scatter"] = np.nanmean(logarithms, axis=1), np.nanstd(logarithms, axis=1)
    out["weight top"] = np.nanquantile(values, 0.9, axis=1) / out["weight"]
    tall = np.log(np.maximum(weights, 1e-3))
    ends = degree[:, :, None] + degree[:, None]
    out["weight and degree"] = correlation(tall, np.log(ends + 1), directed)
    out["weight and triangles"] = correlation(tall, common, directed)
    out["weight and uphill"] = correlation(tall, uphill, directed)
    strength = links.sum(axis=2) + links.sum(axis=1)
    out["strength spread"] = spread(strength) / mean(strength)
    # The letter in a node's name is its kind.
    same = (kinds[:, :, None] == kinds[:, None]).astype(float)
    names = sorted(set(kinds[there]))
    shares = np.stack([((kinds == kind) & there).sum(axis=1) / n for kind in names], 1)
    out["main kind"] = shares.max(axis=1)
    out["same kind"] = (same * m).sum(axis=(1, 2)) / (2 * edges)
    out["homophily"] = out["same kind"] - (shares**2).sum(axis=1)
    out["weight same kind"] = correlation(tall, same, directed)
    out["weight in kind"] = (same * links).sum(axis=(1, 2)) / links.sum(axis=(1, 2))
    for i, kind in enumerate(names[:4]):
        one = ((kinds == kind) & there).astype(float)
        out[f"kind {kind}"] = shares[:, i]
        out[f"kind {kind} degree"] = (degree * one).sum(axis=1) / np.maximum(1, one.sum(axis=1)) / mean(degree)
        out[f"kind {kind} sends"] = ((sent - received) * one).sum(axis=1) / edges
    spectrum = np.linalg.eigvalsh(m)
    out["largest eigenvalue"], out["second eigenvalue"] = spectrum[:, -1], spectrum[:, -2]
    # Parts that hang together: how far word spreads from each node.
    reached = np.minimum(1, m + np.eye(m.shape[1]))
    out["within two"] = mean(((reached @ reached) > 0).sum(axis=2)) / n
    for _ in range(5):
        reached = np.minimum(1, reached @ reached)
    out["parts"] = (there / np.maximum(1, reached.sum(axis=2))).sum(axis=1)
    return pd.DataFrame(out)


for name in files:
    paths = [path for path in x[name] if isinstance(path, str)]
    weights, kinds, doubled = networks(paths)
    drawn = measured(weights, kinds)
    drawn["repeated"] = doubled
    drawn = drawn.set_index(pd.Index(paths)).groupby(level=0).first().reindex(x[name]).reset_index(drop=True)
    drawn = drawn.replace([np.inf, -np.inf], np.nan)
    drawn = drawn.fillna(drawn[:N].median()).fillna(0.0)
    columns.update({f"{name}: {key}": drawn[key] for key in drawn})

