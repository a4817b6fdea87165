"""Reads a pair of notes as three kinds of solvers would."""

from itertools import combinations

DETAILS = ["role", "weekday", "shift", "place", "colour", "material"]
WORTHY = 6


def read(data):
    """`(plain, generic, estimates)` of one pair."""
    lines = texts(data, 2)
    notes = [tokens(line) for line in lines]
    return plain(notes, lines), generic(notes, lines), estimates(notes)


def common(sets):
    """What two sets have in common: the count, over the union, over the smaller set."""
    first, second = sets
    shared = float(len(first & second))
    union = len(first) + len(second) - shared
    return [shared, shared / max(union, 1.0), shared / max(min(len(first), len(second)), 1)]


def vocabularies(notes):
    return [{token.word for token in note} for note in notes]


def long_words(notes):
    return [{token.word for token in note if len(token.word) >= WORTHY} for note in notes]


def plain(notes, lines):
    words = [float(len(note)) for note in notes]
    return [
        words[1] / words[0],
        abs(words[1] - words[0]),
        sum(words),
        len(lines[1]) / len(lines[0]),
        *common(vocabularies(notes)),
        *common(long_words(notes)),
    ]


def gap(a, b):
    """|a - b| over the larger of the two; 0 for two zeros."""
    return abs(a - b) / max(a, b, 1.0)


def head(values):
    return values[0] if values else 0.0


def tail(values):
    return values[-1] if values else 0.0


def mean(values):
    return mean_and_spread(values)[0]


def generic(notes, lines):
    numbers = [digits(note) for note in notes]
    largest = [max(values, default=0.0) for values in numbers]
    times = [clocks(note) for note in notes]
    words = [[token.word for token in note] for note in notes]
    word_pairs = [set(zip(note, note[1:])) for note in words]
    lower = [line.lower() for line in lines]
    triples = [set(zip(line, line[1:], line[2:])) for line in lower]
    capitals = [{token.word for token in note if token.capital} for note in notes]
    values = [
        len(notes[1]) / len(notes[0]),
        *(len(values) for values in numbers),
        *largest,
        gap(*largest),
        gap(*map(mean, numbers)),
        gap(*map(head, numbers)),
        head(times[1]) - head(times[0]),
        tail(times[1]) - tail(times[0]),
        mean(times[1]) - mean(times[0]),
        common(capitals)[0],
        common(word_pairs)[1],
        common(triples)[1],
        *common(vocabularies(notes)),
        *common(long_words(notes)),
    ]
    return [float(value) for value in values]


def estimates(notes):
    """The statistics, in the medium's order."""
    remarks = [{token.concept for token in note if token.kind == "remark"} for note in notes]
    counts = [quantity(note) for note in notes]
    times = [time_of_finding(note) for note in notes]
    details = [[mention(note, kind) for kind in DETAILS] for note in notes]
    both = [(own, other) for own, other in zip(*details) if own and other]
    return [
        common(remarks)[2],
        len(notes[1]) / len(notes[0]),
        0.25 if None in counts else gap(*counts),
        float(sum(own[1] == other[1] for own, other in both)),
        reordering([(own[0], other[0]) for own, other in both]),
        0.0 if None in times else times[1] - times[0],
    ]


def time_of_finding(note):
    """The time in `found at 10:20`, or None."""
    for index, token in enumerate(note):
        if token.kind == "sighting" and (times := clocks(note[index + 2 : index + 3])):
            return times[0]
    return None


def mention(note, kind):
    """Where a detail is given, and what; None if it is not."""
    return next(((i, t.concept) for i, t in enumerate(note) if t.kind == kind), None)


def reordering(places):
    """The share of pairs of details in opposite order."""
    pairs = list(combinations(places, 2))
    reversed_pairs = sum((a[0] < b[0]) != (a[1] < b[1]) for a, b in pairs)
    return reversed_pairs / max(len(pairs), 1)
