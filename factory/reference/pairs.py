"""Compares the two texts of a row: shared words, numbers and times, and clause against clause."""
from collections import Counter
from itertools import chain


def clauses_of(text):
    text = re.sub(r"(\d\d)h(\d\d)", r"\1:\2", text.lower())
    parts = re.split(r"[.;]| while | and (?=it |they |this |the |box |row )", text)
    return [re.findall(r"\d\d:\d\d|[a-z0-9']+", part) for part in parts]


def alike(a, b):
    """1 for the same word, a little less for one that is mistyped."""
    if a == b:
        return 1.0
    if min(len(a), len(b)) < 4 or abs(len(a) - len(b)) > 1:
        return 0.0
    grams = [{word[i : i + 2] for i in range(len(word) - 1)} for word in (a, b)]
    shared = len(grams[0] & grams[1]) / len(grams[0] | grams[1])
    return 0.9 if shared > 0.5 or sorted(a) == sorted(b) else 0.0


def number(word):
    if re.fullmatch(r"\d\d:\d\d", word):
        return int(word[:2]) * 60 + int(word[3:])
    return float(word) if word.isdigit() else None


sides = [[clauses_of(text) for text in x[name].fillna("")] for name in texts[:2]]
every = Counter(chain.from_iterable(set(chain.from_iterable(d)) for side in sides for d in side))
total = 2 * len(x)
rarity = {word: np.log(total / n) for word, n in every.items()}
# Words that most records use name a slot; what stands beside them in the clause fills it.
anchors = [w for w, n in every.most_common() if 0.35 * total < n < 0.97 * total and w.isalpha() and len(w) > 3]
anchors = anchors[:30]
rows = []
for left, right in zip(*sides):
    a, b = set(chain.from_iterable(left)), set(chain.from_iterable(right))
    weigh = lambda words: sum(rarity[word] for word in words)
    out = {"shared": len(a & b), "overlap": weigh(a & b) / weigh(a | b), "inside": weigh(a & b) / max(1e-9, min(weigh(a), weigh(b)))}
    out["rare shared"] = sum(rarity[w] > 2 for w in a & b)
    out["rare left over"] = sum(rarity[w] > 2 and not any(alike(w, v) for v in b) for w in a) + sum(rarity[w] > 2 and not any(alike(w, v) for v in a) for w in b)
    out["length"], out["length gap"] = len(a) + len(b), abs(len(a) - len(b))
    fit = mismatch = 0
    for anchor in anchors:
        here, there = ([c for c in side if anchor in c] for side in (left, right))
        key = f"slot {anchor}"
        if not here or not there:
            out[key] = np.nan
            continue
        best, gap = 0.0, np.nan
        for c in here:
            for d in there:
                fill = [w for w in c if rarity.get(w, 0) > 0.7]
                other = [w for w in d if rarity.get(w, 0) > 0.7]
                if not fill or not other:
                    continue
                hit = sum(max(alike(w, v) for v in other) for w in fill) / max(len(fill), len(other))
                best = max(best, hit)
                m, n = ([number(w) for w in side if number(w) is not None] for side in (c, d))
                if m and n:
                    gap = abs(m[0] - n[0])
        out[key] = best
        fit, mismatch = fit + (best > 0.6), mismatch + (best < 0.3)
        if gap == gap:
            out[f"gap {anchor}"] = np.log1p(gap)
    out["slots that fit"], out["slots that differ"] = fit, mismatch
    rows.append(out)
seen = pd.DataFrame(rows)
seen = seen.loc[:, seen.notna().mean() > 0.2]
for key in seen:
    columns[f"pair: {key}"] = seen[key].fillna(seen[key][:N].median())

