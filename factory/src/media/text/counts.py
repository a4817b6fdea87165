"""Counts in texts of any content. Follows counts.rs."""

import re
import string
import zlib
from collections import Counter

BUCKETS = 16
ENDS = (".", "!", "?")
MOST_NUMBER = 1e9


def decode(data):
    """The text, without the line feed at a file's end."""
    return data.decode("ascii").removesuffix("\n")


def read(data):
    """`(plain, generic, [])` of one text."""
    text = decode(data)
    counts, sentences = words(text)
    plain = lengths(text, counts, sentences)
    return plain, plain + details(text, counts, sentences), []


def words(text):
    """How often each word occurs, and the words of each sentence that has any."""
    counts, sentences = Counter(), [0]
    for part in text.split():
        core = part.strip(string.punctuation)
        if core:
            counts[core.lower()] += 1
            sentences[-1] += 1
        if part.endswith(ENDS):
            sentences.append(0)
    return counts, [length for length in sentences if length > 0]


def lengths(text, counts, sentences):
    values = [
        len(text),
        sum(counts.values()),
        len(sentences),
        sum(line.strip() != "" for line in text.split("\n")),
        sum(c.isdigit() for c in text),
        sum(c.isupper() for c in text),
        sum(c in string.punctuation for c in text),
        len(counts),
    ]
    return [float(value) for value in values]


def details(text, counts, sentences):
    found = re.findall(r"(?:(?<!\S)-)?\d+(?:\.\d+)?", text)
    numbers = [max(-MOST_NUMBER, min(MOST_NUMBER, float(number))) for number in found]
    buckets = [0] * BUCKETS
    for word, count in counts.items():
        buckets[zlib.crc32(word.encode()) % BUCKETS] += count
    values = [
        sum(len(word) * count for word, count in counts.items()) / max(sum(counts.values()), 1),
        max(sentences, default=0),
        max(counts.values(), default=0),
        len(numbers),
        min(numbers, default=0.0),
        max(numbers, default=0.0),
        sum(numbers) / max(len(numbers), 1),
        numbers[0] if numbers else 0.0,
        *buckets,
    ]
    return [float(value) for value in values]
