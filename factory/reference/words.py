"""Splits prose into words. Rare words that are one slip of the pen away from a common one count as
that one. Leaves `documents_of(column)`."""
from collections import Counter
from itertools import chain


def slips(word):
    """What is left of a word without one letter: two words one slip apart share one of these."""
    return {word} | {word[:i] + word[i + 1 :] for i in range(len(word))}


def repaired(documents):
    counts = Counter(chain.from_iterable(documents))
    near = {}
    for word, n in counts.most_common():
        if n >= 8 and len(word) > 3 and word.isalpha():
            for slip in slips(word):
                near.setdefault(slip, word)
    right = {}
    for word, n in counts.items():
        if len(word) > 3 and word.isalpha():
            found = {near[slip] for slip in slips(word) if slip in near}
            found = [other for other in found if counts[other] > 6 * n and abs(len(other) - len(word)) <= 1]
            if found:
                right[word] = max(found, key=counts.get)
    return [[right.get(word, word) for word in document] for document in documents]


def minutes(clock):
    return int(clock[:2]) * 60 + int(clock[3:])


def documents_of(column):
    """The words of each text as written, and in lower case without slips; clocks read 08:15."""
    raw = column.fillna("").str.replace(r"\b(\d\d)h(\d\d)\b", r"\1:\2", regex=True)
    tokens = raw.str.findall(r"\d\d:\d\d|\d+|[A-Za-z']+|[.;]")
    return tokens, repaired([[word.lower() for word in document] for document in tokens])

