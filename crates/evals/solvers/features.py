"""Ordinary features: repaired columns, encoded categories, dates, joined tables; histograms of
pictures, log-mel statistics of sounds, words of texts, degrees of graphs, lags of series."""

from scipy import fft, ndimage, sparse
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

SENTINELS = (-999, -9999, -99, 999, 9999, 99999)


def said_range(name):
    """The range of a column that the page states, if it does."""
    found = re.match(r"(-?[\d.e+-]+) to (-?[\d.e+-]+)$", COLUMNS.get(name, ("", ""))[1])
    return (float(found.group(1)), float(found.group(2))) if found else None


def repaired(name):
    """A number column with gaps where a sentinel stood, and with one unit."""
    values = both[name].astype(float).copy()
    bounds = said_range(name)
    usual = values[~values.isin(SENTINELS)]
    for sentinel in SENTINELS:
        share = (values == sentinel).mean()
        outside = (
            sentinel < bounds[0] or sentinel > bounds[1]
            if bounds
            else (
                len(usual) and (sentinel < usual.min() - usual.std() or sentinel > usual.max() + usual.std())
            )
        )
        if share > 0.004 and outside:
            values = values.where(values != sentinel)
    for unit, (kind, means) in COLUMNS.items():
        owner = re.fullmatch(r"unit of `(.+)`", kind)
        factor = re.search(r"1 (\w+) = ([\d.]+) (\w+)", means)
        if owner and owner.group(1) == name and factor and unit in both:
            values = values.where(both[unit].astype(str) != factor.group(3), values / float(factor.group(2)))
    return values


def is_unit(name):
    return COLUMNS.get(name, ("", ""))[0].startswith("unit of ")


def dated(name):
    cells = both[name].dropna().astype(str)
    if not len(cells) or not cells.str.match(r"\d{4}-\d\d-\d\d").all():
        return None
    when = pd.to_datetime(both[name], errors="coerce")
    if when.isna().mean() > both[name].isna().mean() + 0.05:
        return None
    return {
        f"{name} day": when.astype("int64") / 8.64e13, f"{name} month": when.dt.month,
        f"{name} weekday": when.dt.weekday, f"{name} hour": when.dt.hour, f"{name} of year": when.dt.dayofyear,
    }  # fmt: skip


def folds_of(y=None, parts=4):
    """A fold for each training row: queries, series and sequences stay whole, classes are spread evenly."""
    draws = np.random.default_rng(SEED)
    if LISTS:
        return draws.permutation(GROUP.max() + 1)[GROUP] % parts
    if QUERY:
        place = pd.factorize(both[QUERY][:N])[0]
        return draws.permutation(place.max() + 1)[place] % parts
    order = draws.permutation(N)
    if y is not None and is_classes():
        order = order[np.argsort(y[order, 0], kind="stable")]
    fold = np.empty(N, int)
    fold[order] = np.arange(N) % parts
    return fold


def mean_targets(name, y):
    """Means of the targets by category, of a row's own fold left out, pulled to the mean of all."""
    cells = both[name].astype(str)
    fold = folds_of(parts=8)
    aim = np.eye(len(class_names()) if KIND != "probability" else 2)[y[:, 0]] if is_classes() else y
    aim = aim[:, :6].astype(float)
    out = np.zeros((len(both), aim.shape[1]))
    for part in [*range(8), -1]:
        rows = fold != part
        table = pd.DataFrame(aim[rows]).groupby(cells[:N][rows].to_numpy()).agg(["sum", "count"])
        mean = aim[rows].mean(axis=0)
        to = np.nonzero(fold == part)[0] if part >= 0 else np.arange(N, len(both))
        for place in range(aim.shape[1]):
            total, count = table[(place, "sum")], table[(place, "count")]
            value = (total + 4 * mean[place]) / (count + 4)
            out[to, place] = cells.iloc[to].map(value).fillna(mean[place])
    return {f"{name} mean {place}": out[:, place] for place in range(aim.shape[1])}


def plain_columns(y):
    """The table's own columns as numbers, gaps kept."""
    columns = {name: repaired(name) for name in NUMBERS if name not in (SERIES, STEP)}
    for name in WORDS:
        if is_unit(name):
            continue
        dates = dated(name)
        if dates:
            columns.update(dates)
            continue
        cells = both[name].astype(str).where(both[name].notna())
        counts = cells.value_counts()
        for kind in counts.index[:20] if len(counts) > 20 else counts.index:
            if counts[kind] >= 3:
                columns[f"{name}={kind}"] = (cells == kind).astype(float)
        if len(counts) > 8 and name != SERIES:
            columns[f"{name} count"] = cells.map(counts).astype(float)
            columns.update(mean_targets(name, y))
    return {**columns, **distances(columns)}


def distances(columns):
    """How far any two places of a row are apart, in kilometres. Places have columns with `_lat` and
    `_lon` at the end of their names."""
    places = [name[:-4] for name in columns if name.endswith("_lat") and f"{name[:-4]}_lon" in columns]
    found = {}
    for at, one in enumerate(places):
        for other in places[at + 1 :]:
            ends = [np.radians(columns[f"{place}_{end}"]) for place in (one, other) for end in ("lat", "lon")]
            lat, lon, to_lat, to_lon = ends
            h = np.sin((to_lat - lat) / 2) ** 2
            h += np.cos(lat) * np.cos(to_lat) * np.sin((to_lon - lon) / 2) ** 2
            found[f"{one} to {other}"] = 2 * 6371.0088 * np.arcsin(np.sqrt(h))
    return found


def nested(name):
    """Lines of JSON with lists of objects, as a table of these, beside what else a line says."""
    with open(f"input/{name}") as file:
        lines = [json.loads(line) for line in file]
    lists = [
        key
        for key in (lines[0] if lines and isinstance(lines[0], dict) else [])
        if lines[0][key] and isinstance(lines[0][key], list) and isinstance(lines[0][key][0], dict)
    ]
    if not lists:
        return pd.json_normalize([line for line in lines if isinstance(line, dict)])
    meta = [key for key in lines[0] if key != lists[0]]
    return with_ids(pd.json_normalize(lines, lists[0], meta))


def with_ids(other):
    """A table that keeps its texts. Ids in CSV are numbers where they look like some: so are these, then."""
    for key in other.select_dtypes("object"):
        if key in both and pd.api.types.is_numeric_dtype(both[key]):
            other[key] = pd.to_numeric(other[key], errors="coerce")
    return other


def other_table(name):
    """A table beside those of the rows: CSV, lines of JSON, or Parquet."""
    if name.endswith(".jsonl"):
        return nested(name)
    if name.endswith(".parquet"):
        return with_ids(pd.read_parquet(f"input/{name}", engine="fastparquet"))
    return read(name, low_memory=False)


def joined_tables():
    """Numbers of other tables in the folder that share a column with the rows."""
    columns = {}
    for path in sorted(path for end in ("csv", "jsonl", "parquet") for path in glob(f"input/*.{end}")):
        name = os.path.basename(path)
        if (
            name in ("train.csv", "test.csv", "sample_submission.csv", "edges.csv", "train_positions.csv")
            or os.path.getsize(path) > 2e7
        ):
            continue
        other = other_table(name)
        keys = [
            key
            for key in other
            if key in both and other[key].astype(str).isin(both[key].astype(str)).mean() > 0.3
        ]
        if not keys:
            continue
        key = max(keys, key=lambda one: both[one].nunique())
        rest = other.drop(columns=key)
        for word in rest.select_dtypes("object"):
            kinds = rest[word].value_counts().index[:8]
            for kind in kinds if rest[word].nunique() <= 30 else []:
                rest[f"{word}={kind}"] = (rest[word] == kind).astype(float)
        rest = rest.select_dtypes("number")
        grouped = rest.groupby(other[key].astype(str))
        tables = [grouped.mean().add_suffix(" mean")]
        if other[key].duplicated().any():
            tables += [
                grouped.sum().add_suffix(" sum"),
                grouped.max().add_suffix(" max"),
                grouped.size().to_frame("rows"),
            ]
        for table in tables:
            for column in table:
                columns[f"{os.path.splitext(name)[0]} {column}"] = (
                    both[key].astype(str).map(table[column]).to_numpy()
                )
    return columns


def changes(path):
    """What changes over the frames of a clip: light, contrast, how much differs, and the shift under
    which a frame is most like the one before."""
    seen, times = frames(path)
    if len(seen) < 2:
        return [0.0] * 7
    steps = np.diff(times)
    off = seen - np.median(seen, axis=(1, 2), keepdims=True)
    spectra = np.fft.rfft2(off)
    shifts = []
    for before, after, step in zip(spectra, spectra[1:], steps):
        like = np.fft.fftshift(np.fft.irfft2(after * before.conj(), seen.shape[1:]))
        middle = np.array(like.shape) // 2
        near = like[middle[0] - 8 : middle[0] + 9, middle[1] - 8 : middle[1] + 9]
        down, right = np.unravel_index(near.argmax(), near.shape)
        shifts.append([(down - 8) / step, (right - 8) / step])
    down, right = np.mean(shifts, axis=0)
    spread = off.std(axis=(1, 2))
    return [
        np.polyfit(times, np.median(seen, axis=(1, 2)), 1)[0],
        np.polyfit(times, spread, 1)[0] / (spread.mean() + EPS),
        np.abs(np.diff(off, axis=0)).mean(),
        np.abs(off[-1] - off[0]).mean(),
        down, right, np.hypot(down, right),
    ]  # fmt: skip


def picture_features(column):
    """Histograms of colour and of gradient directions on a grid, thumbnails on their main axes."""
    paths, size = both[column], working_size(column)
    colour, clip = is_coloured(column), is_clip(column)
    known = {}
    for path in paths.dropna().unique():
        full = picture(path, size, colour)
        grey = full.mean(axis=2) if colour else full
        out = [grey.mean(), grey.std(), *np.quantile(grey, [0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98])]
        out += [*np.histogram(grey, 8, (0, 1))[0] / grey.size]
        if colour:
            out += [*full.mean(axis=(0, 1)), *full.std(axis=(0, 1))]
            hue = np.asarray(Image.fromarray((255 * full).astype(np.uint8)).convert("HSV"), float) / 255
            weight = hue[..., 1] * hue[..., 2]
            out += [
                *np.histogram(hue[..., 0], 8, (0, 1), weights=weight)[0] / (weight.sum() + EPS),
                hue[..., 1].mean(),
            ]
        smooth = ndimage.gaussian_filter(grey, 1)
        down, across = np.gradient(smooth)
        strength, angle = np.hypot(down, across), np.mod(np.arctan2(down, across), np.pi)
        out += [
            strength.mean(),
            strength.std(),
            *np.histogram(angle, 8, (0, np.pi), weights=strength)[0] / (strength.sum() + EPS),
        ]
        # Differences of blurs: how much there is of each size.
        levels = [ndimage.gaussian_filter(grey, spread) for spread in (0.7, 1.4, 2.8, 5.6, 11)]
        out += [np.log((a - b).std() + 1e-4) for a, b in zip(levels, levels[1:])]
        out += [
            ndimage.label(grey > grey.mean() + 2 * grey.std())[1],
            ndimage.label(grey < grey.mean() - 2 * grey.std())[1],
        ]
        grid = ndimage.zoom(grey, (3 / size[1], 3 / size[0]), order=1)
        thumb = (
            np.asarray(Image.fromarray((255 * grey).astype(np.uint8)).resize((12, 12)), float).ravel() / 255
        )
        between = changes(path) if clip else []
        known[path] = np.array([*between, *out, *grid.ravel(), *thumb], np.float32)
    width = len(next(iter(known.values())))
    rows = np.stack([known.get(path, np.full(width, np.nan, np.float32)) for path in paths])
    rows = np.where(np.isnan(rows), np.nanmean(rows, axis=0), rows)
    axes = PCA(min(8, len(rows) - 1), random_state=SEED).fit_transform(rows[:, -144:])
    rows = np.hstack([rows[:, :-144], axes])
    return {f"{column} {place}": rows[:, place] for place in range(rows.shape[1])}


def mel_spectrum(values, rate, bands=32, size=512, step=128):
    """Log power by band and time: [bands, frames]."""
    values = np.pad(values, (0, max(0, size - len(values))))
    frames = np.lib.stride_tricks.sliding_window_view(values, size)[::step] * np.hanning(size).astype(
        np.float32
    )
    power = np.abs(fft.rfft(frames, axis=1)) ** 2
    mel = np.linspace(0, 2595 * np.log10(1 + rate / 1400), bands + 2)
    edges = 700 * (10 ** (mel / 2595) - 1)
    pitch = fft.rfftfreq(size, 1 / rate)
    filters = np.maximum(0, np.minimum(
        (pitch - edges[:-2, None]) / np.diff(edges)[:-1, None], (edges[2:, None] - pitch) / np.diff(edges)[1:, None]
    ))  # fmt: skip
    return np.log(filters @ power.T + 1e-6)


def moments_of(values, rate):
    """What differs over a long sound: how loud and how bright the parts are, how quiet quiet moments are,
    and how much of the time is loud in each band."""
    size = 2 * (rate // 125)
    halves = values[: len(values) // (size // 2) * (size // 2)].reshape(-1, size // 2)
    frames = np.hstack([halves[:-1], halves[1:]]) * np.hanning(size).astype(np.float32)
    power = np.abs(fft.rfft(frames, axis=1)) ** 2 + 1e-9
    level = np.log(power.sum(axis=1))
    bands = np.log([part.sum(axis=1) for part in np.array_split(power[:, 1:], 10, axis=1)])
    quiet = np.quantile(bands, 0.3, axis=1)
    parts = np.array_split(level, 4)
    least = [part.min() for part in np.array_split(level, 16)]
    return [
        *quiet, *(np.quantile(bands, 0.97, axis=1) - quiet), *(part.max() for part in parts),
        *(np.quantile(part, 0.3) for part in parts), np.std(least), np.ptp(least),
        *(bands > quiet[:, None] + 2).mean(axis=1)[::2],
        (np.diff((level > 0.5 * (level.max() + np.median(level))).astype(int)) > 0).sum(),
    ]  # fmt: skip


def sound_features(column):
    known = {}
    for path in both[column].dropna().unique():
        rate, values = sound(path)
        long = is_long(rate, values)
        mel = mel_spectrum(values, rate, step=256 if long else 128)
        loud = ndimage.uniform_filter1d(np.abs(values), max(1, rate // 50))[:: max(1, rate // 100)]
        swing = np.abs(fft.rfft(loud - loud.mean()))[1:40]
        thirds = [part.mean() for part in np.array_split(loud, 3)]
        known[path] = np.array([
            len(values) / rate, np.log(values.std() + 1e-6), np.abs(values).max(), loud.std() / (loud.mean() + EPS),
            *mel.mean(axis=1), *mel.std(axis=1), *np.abs(np.diff(mel, axis=1)).mean(axis=1)[::4],
            np.argmax(swing), swing.max() / (swing.sum() + EPS), thirds[2] - thirds[0], mel.argmax(axis=0).mean(), mel.argmax(axis=0).std(),
            *(moments_of(values, rate) if long else []),
        ])  # fmt: skip
    rows = np.stack(
        [known.get(path, np.full(len(next(iter(known.values()))), np.nan)) for path in both[column]]
    )
    return {f"{column} {place}": rows[:, place] for place in range(rows.shape[1])}


def text_features(column):
    """Cheap counts, and words, pairs of words and pieces of words on their main axes."""
    written = texts(column)
    plain = np.array([plain_text(text) for text in written], float)
    numbers = [[float(number) for number in re.findall(r"\d+(?:\.\d+)?", text)[:30]] for text in written]
    extra = [[len(row), max(row, default=0), np.mean(row) if row else 0] for row in numbers]
    rows = [plain, np.array(extra, float)]
    ways = [
        {"ngram_range": (1, 2), "max_features": 40000},
        {"analyzer": "char_wb", "ngram_range": (3, 5), "max_features": 4000},
    ]
    # Pieces of words take too long where there are millions of them.
    if sum(map(len, written)) > 2_000_000:
        ways.pop()
    for options in ways:
        try:
            words = TfidfVectorizer(min_df=3, sublinear_tf=True, **options).fit_transform(written)
        except ValueError:
            continue
        axes = min(24, words.shape[1] - 1, N - 1)
        if axes > 1:
            rows.append(TruncatedSVD(axes, random_state=SEED).fit_transform(words))
    rows = np.hstack(rows)
    return {f"{column} {place}": rows[:, place] for place in range(rows.shape[1])}


def pair_features(one, other):
    """How alike two texts of a row are."""
    a, b = ([set(re.findall(r"\w+", text.lower())) for text in texts(column)] for column in (one, other))
    shared = [len(x & y) / max(1, len(x | y)) for x, y in zip(a, b)]
    numbers = [len({w for w in x & y if w[0].isdigit()}) for x, y in zip(a, b)]
    try:
        words = TfidfVectorizer(min_df=2).fit(texts(one) + texts(other))
        cosine = np.asarray(
            words.transform(texts(one)).multiply(words.transform(texts(other))).sum(axis=1)
        ).ravel()
    except ValueError:
        cosine = np.zeros(len(both))
    lengths = [abs(len(x) - len(y)) for x, y in zip(a, b)]
    return {"pair shared": shared, "pair numbers": numbers, "pair cosine": cosine, "pair lengths": lengths}


def graph_features(column):
    known = {}
    for path in both[column].dropna().unique():
        a, b, weight = links(path)
        nodes = {name: place for place, name in enumerate(pd.unique(pd.concat([a, b])))}
        n = len(nodes)
        x, y = a.map(nodes).to_numpy(), b.map(nodes).to_numpy()
        near = sparse.coo_matrix((np.ones(len(x)), (x, y)), (n, n)).tocsr()
        near = ((near + near.T) > 0).astype(float)
        near.setdiag(0)
        near.eliminate_zeros()
        degree = np.asarray(near.sum(axis=1)).ravel()
        triangles = (near @ near).multiply(near).sum() / 6
        wedges = (degree * (degree - 1)).sum() / 2
        parts = sparse.csgraph.connected_components(near)[0]
        kinds = pd.Series(list(nodes)).str.replace(r"\d+", "", regex=True).value_counts(normalize=True)
        ends = (
            np.corrcoef(degree[x], degree[y])[0, 1]
            if len(x) > 2 and degree[x].std() > 0 and degree[y].std() > 0
            else 0
        )
        known[path] = [
            n, len(x), degree.mean(), degree.std(), degree.max(), (degree == 1).mean(), 3 * triangles / max(1, wedges),
            triangles, parts, near.nnz / max(1, n * (n - 1)), weight.mean(), weight.std(ddof=0), ends, len(kinds), kinds.iloc[0],
            (a.str.replace(r"\d+", "", regex=True) == b.str.replace(r"\d+", "", regex=True)).mean(),
        ]  # fmt: skip
    rows = np.array([known.get(path, [np.nan] * 16) for path in both[column]], float)
    return {f"{column} {place}": rows[:, place] for place in range(rows.shape[1])}


def node_features(columns, y):
    """Rows are nodes of one network: degree, means and labels of neighbours."""
    edges = pd.read_csv("input/edges.csv", dtype=str)
    place = {node: at for at, node in enumerate(pd.concat([train[ID], test[ID]]).astype(str))}
    a, b = (edges.iloc[:, side].map(place) for side in (0, 1))
    known = a.notna() & b.notna()
    near = sparse.coo_matrix(
        (np.ones(known.sum()), (a[known].astype(int), b[known].astype(int))), (len(both),) * 2
    ).tocsr()
    near = ((near + near.T) > 0).astype(float)
    degree = np.asarray(near.sum(axis=1)).ravel()
    out = {"degree": degree, "triangles": np.asarray((near @ near).multiply(near).sum(axis=1)).ravel() / 2}
    for name, values in columns.items():
        filled = (
            pd.Series(np.asarray(values, float))
            .fillna(pd.Series(np.asarray(values, float))[:N].median())
            .to_numpy()
        )
        out[f"{name} near"] = (near @ filled + filled.mean()) / (degree + 1)
    aim = np.eye(len(class_names()))[y[:, 0]] if KIND in ("label", "class_probabilities") else y.astype(float)
    told = near[:, :N]
    count = np.asarray(told.sum(axis=1)).ravel()
    for at in range(aim.shape[1]):
        out[f"label {at} near"] = (told @ aim[:, at] + aim[:, at].mean()) / (count + 1)
    return out


def series_features(columns):
    """Lags of what is known ahead, the calendar, the level and trend of each series."""
    step = both[STEP].astype(float)
    order = both.assign(_series=both[SERIES].astype(str) if SERIES else "all", _step=step)
    order = order.sort_values(["_series", "_step"]).index
    group = (both[SERIES].astype(str) if SERIES else pd.Series("all", both.index)).loc[order]
    out = {"step": step.to_numpy(), "step^2": ((step / step.max()) ** 2).to_numpy()}
    for name, values in columns.items():
        ordered = (
            pd.Series(np.asarray(values, float)).interpolate(limit_direction="both").loc[order].groupby(group)
        )
        for lag in (1, 2):
            out[f"{name} {lag} ago"] = ordered.shift(lag).reindex(both.index).to_numpy()
        out[f"{name} lately"] = (
            ordered.transform(lambda v: v.rolling(4, min_periods=1).mean()).reindex(both.index).to_numpy()
        )
    if CYCLE:
        period = max(2, int(both[CYCLE].max()) + 1)
        for turn in (1, 2):
            for wave_of in (np.sin, np.cos):
                out[f"{wave_of.__name__} {turn}"] = wave_of(
                    2 * np.pi * turn * both[CYCLE].astype(float) / period
                ).to_numpy()
    values = train[TARGET].to_numpy(float)
    names_ = both[SERIES].astype(str) if SERIES else pd.Series("all", both.index)
    for name in names_.unique():
        rows = (names_[:N] == name).to_numpy()
        out[f"series {name}"] = (names_ == name).astype(float).to_numpy()
        if rows.sum() > 1:
            out.setdefault("level", np.full(len(both), values.mean()))[(names_ == name).to_numpy()] = values[
                rows
            ].mean()
    return out


def query_features(columns):
    """Where a row stands among the rows of its query."""
    group = both[QUERY]
    out = {}
    for name, values in columns.items():
        values = pd.Series(np.asarray(values, float))
        out[f"{name} in query"] = (values - values.groupby(group).transform("mean")).to_numpy()
        out[f"{name} rank"] = values.groupby(group).rank(pct=True).to_numpy()
    return out


def item_features():
    out = {}
    for column in FILES:
        measure = {
            "picture": picture_features,
            "sound": sound_features,
            "text": text_features,
            "links": graph_features,
        }
        kind = medium(column)
        if kind in measure:
            out.update(measure[kind](column))
        else:
            rows = np.array([plain_bytes(path) for path in both[column]], float)
            out.update({f"{column} {place}": rows[:, place] for place in range(rows.shape[1])})
    for column in TEXTS:
        out.update(text_features(column))
    prose = [*TEXTS, *(column for column in FILES if medium(column) == "text")]
    if len(prose) == 2:
        out.update(pair_features(*prose))
    return out


def framed(columns):
    """Columns as one frame without gaps: the median of the training rows, and a column that says so."""
    x = pd.DataFrame({name: np.asarray(values, float) for name, values in columns.items()})
    x = x.replace([np.inf, -np.inf], np.nan)
    gaps = x.columns[x[:N].isna().mean().between(0.02, 0.98)]
    x = x.join(x[gaps].isna().astype(float).add_suffix("?"))
    x = x.fillna(x[:N].median()).fillna(0)
    return x.loc[:, x[:N].nunique() > 1]


def ordinary(y):
    """All ordinary features of all rows."""
    columns = {**plain_columns(y), **joined_tables()}
    if STEP:
        columns.update(series_features(columns))
    if os.path.exists("input/edges.csv") and ID in train:
        columns.update(node_features(columns, y))
    columns.update(item_features())
    if QUERY:
        columns.update(query_features(columns))
    if LISTS:
        columns.update(window_columns(2))
    x = framed(columns)
    if not len(x.columns):
        raise Unknown("no column that tells anything")
    return x
