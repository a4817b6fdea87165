"""Sequences whose positions have answers, as tables of positions: what is known of the sequence, the
place, the symbol; and columns of what stands around a position."""

# Symbols of each sequence, those of the training table first; empty where rows are no sequences.
LISTS = []
# The sequence of each training position, as a number.
GROUP = None


def unrolled(train, test):
    """Both tables with a row for each position, and the training rows as they are written."""
    global LISTS, GROUP
    known = pd.read_csv("input/train_positions.csv", dtype=str, keep_default_na=False)
    group, place = known.columns[:2]
    texts = [name for name in test if name != group and not pd.api.types.is_numeric_dtype(test[name])]
    symbols = first_of_kind("sequence") or max(texts, key=lambda name: test[name].str.len().mean())
    LISTS = [
        text.split(" ") if " " in text else list(text) for side in (train, test) for text in side[symbols]
    ]
    GROUP = np.repeat(np.arange(len(train)), [len(one) for one in LISTS[: len(train)]])

    def rows(side, lists):
        lengths = [len(one) for one in lists]
        out = side.drop(columns=[group, symbols]).loc[np.repeat(side.index, lengths)].reset_index(drop=True)
        out[place] = np.concatenate([np.arange(1, length + 1) for length in lengths])
        out[f"{symbols} symbol"] = np.concatenate(lists)
        names = np.repeat(side[group].astype(str), lengths)
        out.insert(0, ID, [f"{name}_{at}" for name, at in zip(names, out[place])])
        return out

    train, test = rows(train, LISTS[: len(train)]), rows(test, LISTS[len(train) :])
    answers = known.set_index(known[group] + "_" + known[place]).loc[train[ID]].reset_index(drop=True)
    raw = train.copy()
    for name in known.columns[2:]:
        raw[name] = answers[name]
        train[name] = pd.to_numeric(answers[name]) if looks_like_numbers(answers[name]) else answers[name]
    return train, test, raw


def alphabet():
    return sorted({symbol for one in LISTS for symbol in one})


def window_columns(reach):
    """Which symbols stand up to so many places before and after."""
    columns = {}
    for offset in [one for one in range(-reach, reach + 1) if one]:
        there = np.concatenate([
            [one[at + offset] if 0 <= at + offset < len(one) else "" for at in range(len(one))] for one in LISTS
        ])  # fmt: skip
        for symbol in alphabet():
            columns[f"at {offset} {symbol}"] = (there == symbol).astype(float)
    left = np.concatenate([np.arange(len(one))[::-1] for one in LISTS])
    return {**columns, "left": left.astype(float)}


def far_columns():
    """Along each sequence: how far away each symbol is and how often it came, runs, which of two symbols
    came last, repeats, and how deep one symbol is inside of what another one closes."""
    letters = alphabet()
    blocks = [along(np.array(one), letters) for one in LISTS]
    return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}


def along(one, letters):
    at, out, last = np.arange(len(one)), {}, {}
    for symbol in letters:
        held = one == symbol
        back = at - np.maximum.accumulate(np.where(held, at, -60))
        ahead = np.minimum.accumulate(np.where(held, at, 999)[::-1])[::-1] - at
        last[symbol] = back
        out[f"since {symbol}"], out[f"until {symbol}"] = np.minimum(back, 40), np.minimum(ahead, 40)
        out[f"nearest {symbol}"] = np.minimum(np.minimum(back, ahead), 40)
        out[f"parity {symbol}"] = np.cumsum(held) % 2
        for window in (8, 14):
            out[f"count {window} {symbol}"] = np.convolve(held, np.ones(window))[: len(one)]
    change = np.concatenate([[True], one[1:] != one[:-1]])
    out["run"] = at - np.maximum.accumulate(np.where(change, at, 0)) + 1
    for lag in range(2, 7):
        out[f"echo {lag}"] = np.concatenate([np.zeros(min(lag, len(one))), one[lag:] == one[:-lag]])
    for a in letters:
        for b in letters:
            if a < b:
                out[f"later {a} {b}"] = (last[a] < last[b]).astype(float)
            if a != b:
                depth, levels = 0, []
                for symbol in one:
                    depth += symbol == a
                    levels.append(depth)
                    depth = max(0, depth - (symbol == b))
                out[f"inside {a} {b}"] = np.minimum(levels, 6)
    return {name: np.asarray(values, float) for name, values in out.items()}
