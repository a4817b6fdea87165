"""Words, numbers and times of a text, spelling forgiven; shared by both kinds of texts."""

import math
import string
from functools import lru_cache

LONG = 5
SHORTEST = 20


def mistyped_forms(word):
    """Everything that one slip at an inner letter can make of a word."""
    if len(word) < LONG:
        return
    for i in range(1, len(word) - 1):
        swapped = word[:i] + word[i + 1] + word[i] + word[i + 2 :]
        yield swapped if i + 2 < len(word) else word
        yield word[:i] + word[i + 1 :]
        yield word[: i + 1] + word[i:]


def lexicon(text):
    """The words of each class, and what every word or mistyped word means."""
    classes = {}
    for line in text.strip().splitlines():
        name, words = line.split(": ")
        classes[name] = [concept.split("/") for concept in words.split()]
    known = [
        (word, name, concept)
        for name, concepts in classes.items()
        for concept, words in enumerate(concepts)
        for word in words
    ]
    meanings = {word: (name, concept, True) for word, name, concept in known}
    for word, name, concept in known:
        for form in mistyped_forms(word):
            meanings.setdefault(form, (name, concept, False))
    return classes, meanings


CLASSES, MEANINGS = lexicon(WORDS)
UNKNOWN = (None, -1, False)


class Token:
    """A word: lower case, with its capital, its punctuation and its meaning."""

    __slots__ = ("word", "capital", "ends", "kind", "concept", "exact")

    def __init__(self, part):
        core = part.strip(string.punctuation)
        self.word = core.lower()
        self.capital = core[:1].isupper()
        self.ends = part.endswith(".")
        self.kind, self.concept, self.exact = MEANINGS.get(self.word, UNKNOWN)


# Texts repeat their words, and tokens never change.
token = lru_cache(maxsize=None)(Token)


def whole(data):
    """An item that is one text of some length, in one line or in several paragraphs."""
    text = data.decode("ascii")
    if len(text.split()) < SHORTEST:
        raise ValueError(f"a text of fewer than {SHORTEST} words")
    return text


def texts(data, count):
    """The lines of an item, each of some length."""
    lines = data.decode("ascii").removesuffix("\n").split("\n")
    if len(lines) != count:
        raise ValueError(f"{len(lines)} texts instead of {count}")
    return [whole(line.encode()) for line in lines]


def tokens(line):
    return [token(part) for part in line.split()]


def digits(tokens):
    """The numbers written in digits."""
    return [float(t.word) for t in tokens if t.word.isdigit()]


def clock(token):
    """A time of day in minutes after midnight, or None."""
    word = token.word
    if len(word) == 5 and word[2] in ":h" and (word[:2] + word[3:]).isdigit():
        return 60.0 * int(word[:2]) + int(word[3:])
    return None


def clocks(tokens):
    return [time for time in map(clock, tokens) if time is not None]


def number_at(tokens, index):
    """The number that begins at an index, in digits or in words, or None."""
    if index >= len(tokens):
        return None
    token = tokens[index]
    if token.word.isdigit():
        return float(token.word)
    if token.kind == "ten":
        following = tokens[index + 1] if index + 1 < len(tokens) else None
        unit = following.concept + 1 if following and following.kind == "unit" else 0
        return 10.0 * (token.concept + 2) + unit
    if token.kind == "teen":
        return token.concept + 10.0
    return token.concept + 1.0 if token.kind == "unit" else None


def quantity(tokens):
    """The number right after a verb of counting, or None."""
    for index, token in enumerate(tokens):
        if token.kind == "tally" and (number := number_at(tokens, index + 1)) is not None:
            return number
    return None


def mean_and_spread(values):
    """Mean and standard deviation of the population; zeros for nothing."""
    n = max(len(values), 1)
    mean = sum(values) / n
    return mean, math.sqrt(sum((v - mean) ** 2 for v in values) / n)


def sentence_lengths(tokens):
    """Words per sentence; a text without full stops is one sentence."""
    lengths, length = [], 0
    for token in tokens:
        length += 1
        if token.ends:
            lengths.append(float(length))
            length = 0
    return lengths + [float(length)] if length else lengths
