"""What someone looks for who has met such media before: stripes and their direction, blobs by size and
light, pitch and its course, loudness and its beats, words by place, numbers and clocks in texts."""


def drift(path):
    """How what stands out in a clip drifts and grows: speed across and down, direction, how many things,
    their area and how it grows."""
    seen, times = frames(path)
    found = []
    for time, frame in zip(times, seen):
        off = np.abs(frame - np.median(frame))
        seems = ndimage.gaussian_filter(off, 0.7) > 0.5 * np.quantile(off, 0.99)
        marks, count = ndimage.label(ndimage.binary_opening(seems))
        if count:
            places = ndimage.center_of_mass(seems, marks, range(1, count + 1))
            found.append([time, count, *np.mean(places, axis=0), np.log((marks > 0).sum() / count)])
    if not found:
        return [0.0] * 7
    found = np.array(found)
    # Where a thing is missed or taken for two, the mean place jumps.
    usual = found[found[:, 1] == np.median(found[:, 1].round())]
    if len(usual) < 2:
        return [0.0] * 3 + [0.0, np.median(found[:, 1]), found[:, 4].mean(), 0.0]
    down, right, growth = (np.polyfit(usual[:, 0], usual[:, axis], 1)[0] for axis in (2, 3, 4))
    turn = np.degrees(np.arctan2(down, right))
    return [down, right, np.hypot(down, right), turn, usual[0, 1], usual[:, 4].mean(), growth]


def picture_structure(column):
    known, size, clip = {}, working_size(column), is_clip(column)
    pitch = np.hypot(*np.meshgrid(np.fft.fftfreq(size[1]), np.fft.rfftfreq(size[0]), indexing="ij"))
    angle = np.arctan2(*np.meshgrid(np.fft.fftfreq(size[1]), np.fft.rfftfreq(size[0]), indexing="ij"))
    rings = np.digitize(pitch, np.geomspace(0.02, 0.5, 10))
    window = np.outer(np.hanning(size[1]), np.hanning(size[0]))
    for path in both[column].dropna().unique():
        grey = picture(path, size)
        off = ground_off(grey)
        power = np.abs(np.fft.rfft2(off * window)) ** 2
        out = [*np.log(np.bincount(rings.ravel(), power.ravel(), 11)[1:] + 1e-9)]
        middle = (pitch > 0.03) & (pitch < 0.45)
        strong = np.where(middle, power, 0)
        at = strong.argmax()
        out += [
            pitch.flat[at],
            np.cos(2 * angle.flat[at]),
            np.sin(2 * angle.flat[at]),
            np.log(strong.flat[at] + 1e-9),
            strong.flat[at] / (strong.sum() + 1e-9),
        ]
        weight = strong / (strong.sum() + 1e-9)
        out += [
            (weight * np.cos(2 * angle)).sum(),
            (weight * np.sin(2 * angle)).sum(),
            (weight * pitch).sum(),
        ]
        down, across = np.gradient(ndimage.gaussian_filter(grey, 1))
        xx, yy, xy = (across**2).mean(), (down**2).mean(), (across * down).mean()
        out += [(xx - yy) / (xx + yy + 1e-9), 2 * xy / (xx + yy + 1e-9)]
        quiet = 1.48 * np.median(np.abs(off)) + 0.005
        for way in (1, -1):
            marks, count = ndimage.label(ndimage.binary_opening(way * off > 3 * quiet))
            areas = np.bincount(marks.ravel())[1:]
            places = (
                np.array(ndimage.center_of_mass(marks > 0, marks, range(1, count + 1))).reshape(-1, 2)
                if count
                else np.zeros((0, 2))
            )
            round_ = [np.prod([s.stop - s.start for s in place]) for place in ndimage.find_objects(marks)]
            out += [
                count,
                areas.mean() if count else 0,
                areas.std() if count else 0,
                areas.max() if count else 0,
                areas.sum(),
            ]
            out += [
                (areas / np.maximum(1, round_)).mean() if count else 0,
                *(places.mean(axis=0) if count else (size[1] / 2, size[0] / 2)),
                *(places.std(axis=0) if count else (0, 0)),
            ]
        levels = [ndimage.gaussian_filter(grey, spread) for spread in (1, 2, 4, 8)]
        for a, b in zip(levels, levels[1:]):
            peak = a - b
            out += [
                (peak == ndimage.maximum_filter(peak, 7))[peak > 3 * peak.std()].sum(),
                (peak == ndimage.minimum_filter(peak, 7))[peak < -3 * peak.std()].sum(),
            ]
        skew = ((off - off.mean()) ** 3).mean() / (off.std() ** 3 + 1e-9)
        out += [
            skew,
            ((off - off.mean()) ** 4).mean() / (off.var() ** 2 + 1e-9),
            grey[:8].mean() - grey[-8:].mean(),
            grey[:, :8].mean() - grey[:, -8:].mean(),
        ]
        # Left against right, above against below: how even the picture is.
        out += [
            np.corrcoef(grey.ravel(), grey[:, ::-1].ravel())[0, 1],
            np.corrcoef(grey.ravel(), grey[::-1].ravel())[0, 1],
            *(drift(path) if clip else []),
        ]
        known[path] = out
    rows = np.array([known.get(path, [np.nan] * len(out)) for path in both[column]], float)
    return {f"{column} s{place}": rows[:, place] for place in range(rows.shape[1])}


def band(power, rate, pitch):
    """The power around a pitch in hertz."""
    at = int(pitch * 1024 / rate)
    return power[:, max(0, at - 2) : at + 3].sum()


def calls_of(values, rate):
    """What calls again and again in a long sound: how many notes there are, in how many calls, how these
    follow each other, and where their pitch and their loudness go."""
    size = 2 * (rate // 125)
    halves = values[: len(values) // (size // 2) * (size // 2)].reshape(-1, size // 2)
    frames = np.hstack([halves[:-1], halves[1:]]) * np.hanning(size).astype(np.float32)
    power = np.abs(fft.rfft(frames, axis=1)) ** 2 + 1e-9
    pitch = fft.rfftfreq(size, 1 / rate)
    power, pitch = power[:, pitch > 200], pitch[pitch > 200]
    usual = np.quantile(power, 0.35, axis=0)
    above = power / usual
    level = np.log(above.mean(axis=1))
    strong = np.sort(level)[-8]
    loud = level > np.median(level) + 0.4 * (strong - np.median(level))
    # Which pitches the loud moments have and others have not.
    weight = np.sqrt(np.maximum(above[loud].mean(axis=0) - above.mean(axis=0), 0)) + 1e-3
    course = ndimage.gaussian_filter1d(np.log(ndimage.uniform_filter1d(above @ weight, 3) + 1e-9), 0.7)
    rest, top = np.median(course), np.sort(course)[-8]
    at, _ = signal.find_peaks(course, rest + max(0.9, 0.4 * (top - rest)), prominence=1.1, distance=6)
    # Echoes are weaker than what they follow.
    at = at[course[at] > ndimage.maximum_filter1d(course, 25)[at] - 1.6]
    if len(at) < 3:
        return [len(at), top - rest] + [0.0] * 13
    gaps = np.diff(at)
    ends = np.nonzero(gaps > 1.5 * np.quantile(gaps, 0.25))[0]
    first, last = np.r_[0, ends + 1], np.r_[ends, len(at) - 1]
    tones, strength = [], []
    for note in at:
        some = power[max(0, note - 2) : note + 3]
        more = np.maximum(some.mean(axis=0) - 1.5 * usual, 0) + 1e-9
        peak = pitch[ndimage.uniform_filter1d(more, 3).argmax()]
        near = np.abs(np.log2(pitch / peak)) < 0.5
        tones.append(12 * np.log2((pitch[near] * more[near]).sum() / more[near].sum()))
        strength.append(np.log(some.sum(axis=1).max()))
    tones, strength = np.array(tones), np.array(strength)
    slides = [
        np.polyfit(np.linspace(0, 1, b - a + 1), tones[a : b + 1], 1)[0] for a, b in zip(first, last) if b > a
    ]
    heights = np.sort([tones[a : b + 1].mean() for a, b in zip(first, last)])
    steps = np.diff(heights)
    split = 1 + steps.argmax() if len(steps) else 1
    begin = np.diff(at[first])
    pace = np.polyfit(np.linspace(0, 1, len(begin)), np.log2(begin), 1)[0] if len(begin) > 1 else 0.0
    swell, _ = np.polyfit(at / len(power), strength, 1)
    between = np.ones(len(power), bool)
    for a, b in zip(first, last):
        between[max(0, at[a] - 8) : at[b] + 20] = False
    still = np.log((power[between] / usual).mean(axis=1)) if between.sum() > 10 else np.zeros(1)
    return [
        len(at), top - rest, len(first), len(at) / len(first), np.median(gaps), pace, np.std(np.log2(begin)) if len(begin) else 0,
        np.mean(slides) if slides else 0, heights[split:].mean() - heights[:split].mean() if len(steps) else 0, heights.mean(),
        swell, strength.mean(), strength.std(), still.std(), still.mean(),
    ]  # fmt: skip


def sound_structure(column):
    known = {}
    for path in both[column].dropna().unique():
        rate, values = sound(path)
        size, step = 512, 512 if is_long(rate, values) else 128
        frames = np.lib.stride_tricks.sliding_window_view(np.pad(values, (0, size)), size)[
            ::step
        ] * np.hanning(size)
        power = np.abs(fft.rfft(frames, 1024, axis=1)) ** 2
        pitch = fft.rfftfreq(1024, 1 / rate)
        power[:, pitch < 80] = 0
        floor = np.median(power) + 1e-12
        at = power.argmax(axis=1)
        tone, strength = pitch[at], power[np.arange(len(power)), at]
        held = strength >= np.quantile(strength, 0.4)
        times = np.arange(len(tone)) * step / rate
        middle = np.median(tone[held])
        slope, start = np.polyfit(times[held], tone[held], 1) if held.sum() > 3 else (0, middle)
        out = [
            middle,
            slope,
            np.std(tone[held] - start - slope * times[held]),
            np.log(np.median(strength) / floor + 1),
            np.log(floor),
        ]
        out += [
            np.log((band(power, rate, middle * factor) + 1e-9) / (band(power, rate, middle) + 1e-9))
            for factor in (2, 3, 4, 5)
        ]
        every = max(1, rate // 400)
        envelope = np.abs(signal.hilbert(values))
        envelope = ndimage.uniform_filter1d(envelope, every)[::every]
        pace = rate / every
        beat = np.abs(fft.rfft(signal.detrend(envelope) * np.hanning(len(envelope)), 4096)) ** 2
        paces = fft.rfftfreq(4096, 1 / pace)
        inside = (paces > 1) & (paces < 40)
        out += [
            paces[inside][beat[inside].argmax()],
            beat[inside].max() / (beat[inside].sum() + 1e-12),
            envelope.std() / (envelope.mean() + 1e-9),
        ]
        flux = np.maximum(0, np.diff(np.log(power + floor), axis=0)).mean(axis=1)
        out += [
            len(signal.find_peaks(flux, height=np.median(flux) + height * flux.std(), distance=4)[0])
            for height in (1, 2, 3)
        ]
        quick = np.abs(values) > 4 * np.median(np.abs(values)) + 1e-6
        out += [
            ndimage.label(ndimage.binary_dilation(quick, iterations=max(1, rate // 200)))[1],
            quick.mean(),
        ]
        quarters = [np.log(part.mean() + 1e-6) for part in np.array_split(envelope, 4)]
        out += [
            quarters[1] - quarters[0],
            quarters[2] - quarters[1],
            quarters[3] - quarters[0],
            np.argmax(envelope) / len(envelope),
            *(calls_of(values, rate) if is_long(rate, values) else []),
        ]
        known[path] = out
    rows = np.array([known.get(path, [np.nan] * len(out)) for path in both[column]], float)
    return {f"{column} s{place}": rows[:, place] for place in range(rows.shape[1])}


MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
MONTH = rf"({'|'.join(MONTHS)})[a-z]*"


def clock_minutes(text):
    return [60 * int(hour) + int(minute) for hour, minute in re.findall(r"\b(\d\d?)[:h](\d\d)\b", text)]


def text_structure(column):
    """Clocks, numbers by what stands behind them, denials, words of the first and the last third."""
    written = texts(column)
    columns = {}
    clocks = [clock_minutes(text) for text in written]
    columns[f"{column} first clock"] = [row[0] if row else np.nan for row in clocks]
    columns[f"{column} clock span"] = [max(row) - min(row) if len(row) > 1 else np.nan for row in clocks]
    columns[f"{column} clock turn"] = [row[-1] - row[0] if len(row) > 1 else np.nan for row in clocks]
    low = [text.lower() for text in written]
    columns[f"{column} denials"] = [
        len(re.findall(r"\b(?:not|no|never|without|free of|none|nor)\b", text)) for text in low
    ]
    behind = pd.Series(
        [match for text in low for match in set(re.findall(r"\b\d+(?:\.\d+)? ([a-z]+)", text))]
    ).value_counts()
    for word in behind.index[behind > 0.1 * len(low)][:8]:
        found = [re.findall(rf"\b(\d+(?:\.\d+)?) {word}\b", text) for text in low]
        columns[f"{column} {word}"] = [np.mean([float(v) for v in row]) if row else np.nan for row in found]
    words = [re.findall(r"[a-z']+", text) for text in low]
    counts = pd.Series([word for row in words for word in set(row)]).value_counts()
    for word in counts.index[counts.between(0.05 * len(low), 0.9 * len(low))][:250]:
        held = np.array([row.count(word) for row in words], float)
        columns[f"{column} w {word}"] = held
    thirds = [(set(row[: len(row) // 3]), set(row[-(len(row) // 3) :])) for row in words]
    columns[f"{column} first in last"] = [len(a & b) / max(1, len(a | b)) for a, b in thirds]
    columns[f"{column} repeats"] = [1 - len(set(row)) / max(1, len(row)) for row in words]
    return columns


def entry_place(entry):
    """The date and time above an entry, or its number; None for neither."""
    head = entry.split("\n")[0]
    clock = re.search(r"\b(\d\d):(\d\d)$", head)
    date = re.search(rf"\b(?:(\d+) {MONTH}|{MONTH} (\d+))", head)
    if clock and date:
        number, month, other, behind = date.groups()
        return (
            45000 * MONTHS.index(month or other)
            + 1440 * int(number or behind)
            + 60 * int(clock[1])
            + int(clock[2])
        )
    number = re.match(r"Q?(\d+)[.:]", head)
    return int(number[1]) if number else None


def entries_of(text):
    """The entries of a paper in the order of their dates or numbers, in lower case."""
    placed = [(entry_place(entry), entry) for entry in text.split("\n\n")]
    placed = [pair for pair in placed if pair[0] is not None]
    return [entry.lower() for _, entry in sorted(placed, key=lambda pair: pair[0])]


def dossier_structure(column):
    """Papers of several entries: what changes from the first to the second half, how what is spoken of
    again and again is spoken of last, and the sums of money beside each word."""
    papers = [entries_of(text) for text in texts(column)]
    if np.median([len(paper) for paper in papers]) < 4:
        return {}
    columns = {}
    split = [[re.findall(r"[a-z']+", entry) for entry in paper] for paper in papers]
    counts = pd.Series(
        [word for paper in split for word in {w for entry in paper for w in entry}]
    ).value_counts()
    usual = list(counts.index[counts.between(0.1 * len(papers), 0.95 * len(papers))][:150])
    for word in usual:
        held = [[entry.count(word) for entry in paper] for paper in split]
        columns[f"{column} turn {word}"] = [
            sum(row[len(row) // 2 :]) - sum(row[: len(row) // 2]) for row in held
        ]
    # Things are spoken of with `the` before them, in many papers and several times in each.
    things = pd.Series([m for paper in papers for m in re.findall(r"\bthe ([a-z]+)\b", " ".join(paper))])
    things = set(things.value_counts().index[:40])
    last = []
    for paper in papers:
        told = {}
        for sentence in re.split(r"[.?\n]", " . ".join(paper)):
            for thing in set(re.findall(r"\bthe ([a-z]+)\b", sentence)) & things:
                told[thing] = re.findall(r"[a-z']+", sentence)
        last.append([word for sentence in told.values() for word in set(sentence)])
    for word in usual[:80]:
        columns[f"{column} last {word}"] = [row.count(word) for row in last]
    money = [re.findall(r"[^.?\n]*\b\d+ euros[^.?\n]*", " . ".join(paper)) for paper in papers]
    beside = pd.Series(
        [w for row in money for s in row for w in set(re.findall(r"[a-z]+", s))]
    ).value_counts()
    for word in beside.index[:25]:
        columns[f"{column} euros {word}"] = [
            sum(float(re.search(r"(\d+) euros", s)[1]) for s in row if re.search(rf"\b{word}\b", s))
            for row in money
        ]
    return columns


def structures():
    columns = {}
    for column in FILES:
        kind = medium(column)
        if kind == "picture":
            columns.update(picture_structure(column))
        elif kind == "sound":
            columns.update(sound_structure(column))
        elif kind == "text":
            columns.update(text_structure(column))
            columns.update(dossier_structure(column))
    for column in TEXTS:
        columns.update(text_structure(column))
    return columns
