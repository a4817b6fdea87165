"""Measures prose: words, negated words, clauses, numbers, times and their order.

Rare words that are one slip of the pen away from a common one count as that one.
"""
from collections import Counter
from itertools import chain

NO = {"no", "not", "never", "nor", "none", "without", "hardly", "n't", "nobody", "nothing", "free"}


def slips(word):
    """What is left of a word without one letter: two words one slip apart share one of these."""
    return {word} | {word[:i] + word[i + 1 :] for i in range(len(word))}


def repaired(documents):
    counts = Counter(chain.from_iterable(documents))
    common = [word for word, n in counts.most_common() if n >= 8 and len(word) > 3]
    near = {}
    for word in common:
        for slip in slips(word):
            near.setdefault(slip, word)
    right = {word: word for word in counts}
    for word, n in counts.items():
        if n < 8 and len(word) > 3 and word.isalpha():
            found = [near[slip] for slip in slips(word) if slip in near]
            found = [other for other in found if abs(len(other) - len(word)) <= 1]
            if found:
                right[word] = max(found, key=counts.get)
    return [[right[word] for word in document] for document in documents]


def minutes(word):
    clock = re.fullmatch(r"(\d\d)[:h](\d\d)", word)
    return int(clock.group(1)) * 60 + int(clock.group(2)) if clock else None


def measures(document):
    """Counts by word, by negated word, and of the whole."""
    counts, clause, negated = Counter(), [], False
    out = {"words": len(document), "sentences": document.count(".") + 1}
    clauses = [[]]
    for word in document:
        if word in ".;" or word in ("and", "while", "then", "but"):
            clauses.append([])
        if word not in ".;":
            clauses[-1].append(word)
    no = 0
    for clause in clauses:
        negated = any(word in NO for word in clause)
        no += negated
        for word in clause:
            if word.isalpha() and word not in NO:
                counts[f"no {word}" if negated else word] += 1
    out["clauses"], out["negated clauses"] = len(clauses), no
    times = [t for t in map(minutes, document) if t is not None]
    out["times"] = len(times)
    if times:
        out["first time"], out["last time"] = times[0], times[-1]
        out["time span"] = max(times) - min(times)
        out["in order"] = np.mean(np.diff(times) > 0) if len(times) > 1 else 0.5
    amounts = [float(word) for word in document if re.fullmatch(r"\d+", word)]
    out["numbers"] = len(amounts)
    out["number sum"], out["number top"] = sum(amounts), max(amounts, default=0.0)
    # Which of two timed events is told of, and at what time.
    for clause in clauses:
        when = [t for t in map(minutes, clause) if t is not None]
        if when:
            for word in clause:
                if word.isalpha() and len(word) > 3:
                    out[f"at {word}"] = when[0]
    return counts, out


for name in texts:
    raw = x[name].fillna("").str.lower()
    raw = raw.str.findall(r"\d\d[:h]\d\d|\d+|[a-z']+|[.;]")
    read_ = [measures(document) for document in repaired(list(raw))]
    whole = pd.DataFrame([out for _, out in read_])
    whole = whole.loc[:, whole.notna().mean() > 0.25]
    # The order of two events that are both timed says more than either time.
    timed = [key for key in whole if key.startswith("at ")]
    timed = sorted(timed, key=lambda key: -whole[key].notna().mean())[:14]
    for i, a in enumerate(timed):
        for b in timed[:i]:
            both = (whole[a] - whole[b])
            if both.notna().mean() > 0.3 and both.std() > 0:
                columns[f"{name}: {a} after {b}"] = np.sign(both).fillna(0.0)
    whole = whole.drop(columns=[key for key in whole if key.startswith("at ") and key not in timed])
    counts = pd.DataFrame([counts for counts, _ in read_]).fillna(0.0)
    held = (counts[:N] > 0).mean()
    counts = counts.loc[:, (held > 0.04) & (counts[:N].std() > 0)]
    whole = whole.fillna(whole[:N].median()).fillna(0.0)
    columns.update({f"{name}: {key}": whole[key] for key in whole})
    columns.update({f"{name}: {key}": counts[key] for key in counts})

