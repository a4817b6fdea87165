"""Reads a report as three kinds of solvers would."""

from collections import Counter

COMMON = ["and", "the", "a", "was"]
LISTED = ["complaint", "strong", "negation", "finding"]
DETAILS = ["weekday", "shift", "place", "colour", "material"]
MIDDLE_QUANTITY = 53.0


def read(data):
    """`(plain, generic, estimates)` of one report."""
    text = whole(data)
    words = tokens(text)
    return plain(words, text), generic(words), estimates(words)


def listed(tokens, part=0):
    """Rightly spelled words of the lists, less the last 1 / `part` of each list."""
    sizes = {kind: len(CLASSES[kind]) for kind in LISTED}
    first = {kind: size - (size // part if part else 0) for kind, size in sizes.items()}
    counts = Counter(t.kind for t in tokens if t.exact and t.concept < first.get(t.kind, 0))
    return [float(counts[kind]) for kind in LISTED]


def plain(tokens, text):
    counts = Counter(token.word for token in tokens)
    common = [float(counts[word]) for word in COMMON]
    return listed(tokens, part=4) + common + [float(len(tokens)), float(len(text))]


def generic(tokens):
    sentences = sentence_lengths(tokens)
    capitals = Counter(token.word for token in tokens if token.capital)
    small = {token.word for token in tokens if not token.capital}
    named = [t.word for t in tokens if t.capital and t.word not in small]
    numbers = digits(tokens)
    times = clocks(tokens)
    values = [
        len(tokens),
        mean_and_spread(sentences)[1],
        len({token.word for token in tokens}) / len(tokens),
        sum(capitals.values()),
        len(capitals),
        max(capitals.values(), default=0),
        len(named),
        len(set(named)),
        len(numbers),
        min(numbers, default=0.0),
        max(numbers, default=0.0),
        numbers[0] if numbers else 0.0,
        max(times, default=0.0) - min(times, default=0.0),
    ]
    return [float(value) for value in values] + listed(tokens)


def estimates(tokens):
    """The statistics, in the medium's order."""
    number = quantity(tokens)
    times = time_of(tokens, "opening"), time_of(tokens, "closing")
    return [
        float(sum(token.kind == "complaint" for token in tokens)),
        float(sum(token.kind == "strong" for token in tokens)),
        MIDDLE_QUANTITY if number is None else number,
        float(len({token.concept for token in tokens if token.kind == "person"})),
        float(sum(denied(tokens, i) for i, t in enumerate(tokens) if t.kind == "finding")),
        float(sum(agrees(tokens, kind) for kind in DETAILS)),
        0.0 if None in times else times[1] - times[0],
    ]


def denied(tokens, index):
    """Whether the finding at an index stands within the scope of a negation."""

    def before(steps):
        return tokens[index - steps] if index >= steps else token("")

    def negation(steps, word):
        found = before(steps)
        return found.kind == "negation" and CLASSES["negation"][found.concept][0] == word

    if before(1).word == "no":
        return True
    if before(1).word == "any":
        return before(3).word == "free" and before(4).word != "not"
    if before(1).word in ("a", "an"):
        after = [following.word for following in tokens[index + 1 : index + 3]]
        return negation(2, "without") or negation(3, "never") or after == ["was", "not"]
    return False


def agrees(tokens, kind):
    """Whether the first and the last mention of a detail are the same."""
    mentions = [token.concept for token in tokens if token.kind == kind]
    return len(mentions) > 1 and mentions[0] == mentions[-1]


def time_of(tokens, event):
    """The time of an event: `the event at 10:20`, otherwise the last time before it."""
    place = next((i for i, token in enumerate(tokens) if token.kind == event), None)
    if place is None:
        return None
    if [token.word for token in tokens[place + 1 : place + 2]] == ["at"]:
        after = clocks(tokens[place + 2 : place + 3])
        if after:
            return after[0]
    before = clocks(tokens[:place])
    return before[-1] if before else None
