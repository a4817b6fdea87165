"""Reads a dossier as three kinds of solvers would. Follows reading.rs."""

import math
import string
from collections import Counter, defaultdict

COMMON = ["and", "the", "was", "not"]
HINTS = [
    {"back", "repair", "right", "running", "finished", "new"},
    {"again", "failed", "out", "broke", "trouble", "off"},
    {"thanks", "help", "splendid", "kind", "well"},
    {"blame", "mistake", "error", "wrong", "mistaken"},
]
REACH = 20
MIDDLE_WAIT = 67.0
MIDDLE_DAYS = 21.0
HURRIED = [8, 6]
LONG = 5
SHORTEST = 20
BEFORE = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334]
SLOTS = {
    "good": ["{it}"],
    "bad": ["{it}"],
    "blame": ["{guilty}", "{other}"],
    "request": ["{date}"],
    "answer": ["{date}"],
    "paid": ["{sum}"],
}


def mistyped_forms(word):
    """Everything that one slip at an inner letter can make of a word."""
    if len(word) < LONG:
        return
    for i in range(1, len(word) - 1):
        swapped = word[:i] + word[i + 1] + word[i] + word[i + 2 :]
        yield swapped if i + 2 < len(word) else word
        yield word[:i] + word[i + 1 :]
        yield word[: i + 1] + word[i:]


def cue_of(line):
    """`(first word, (words, kind, whether it stands behind, whether the innocent is nearest))`."""
    kind, sentence = line.split(": ", 1)
    kind = kind.rstrip("*")
    before, rest = sentence.split("<")
    cue, after = rest.split(">")
    slots = SLOTS.get(kind, [])
    last = max(((before.rfind(slot), slot) for slot in slots if slot in before), default=None)
    first = min(((after.find(slot), slot) for slot in slots if slot in after), default=None)
    nearest = last or first
    words = cue.split(" ")
    return words[0], (words, kind, last is None, nearest is not None and nearest[1] == "{other}")


LISTS = {
    name: [entry.split("/") for entry in words.split(" ")]
    for name, words in (line.split(": ") for line in KEYS.strip().split("\n"))
}
STRONG, STAFFING = ([entry[0] for entry in LISTS[name]] for name in ("strong", "staffing"))
MONTHS = {word: place for place, entry in enumerate(LISTS["month"]) for word in entry}
WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
CALENDAR = {*MONTHS, *WEEKDAYS, *(day[:3] for day in WEEKDAYS)}
FAMILIAR = [entry[0] for name in ("surname", "first") for entry in LISTS[name][:20]]
PERSONS = {entry[0] for name in ("surname", "first") for entry in LISTS[name]}
PARTIES = {
    entry[0]: place
    for name, entries in LISTS.items()
    if name.endswith("parties")
    for place, entry in enumerate(entries)
}
LISTED = ("month", "surname", "first", "strong", "staffing")
MATTERS = {
    entry[0]
    for name, entries in LISTS.items()
    if name not in LISTED and not name.endswith("parties")
    for entry in entries
}
STARTS = defaultdict(list)
for line in CUES.strip().split("\n"):
    start, cue = cue_of(line)
    STARTS[start].append(cue)


def known_forms():
    """The known word behind every form of one, right spellings first."""
    known = {"minutes", "euros", *(word for cues in STARTS.values() for cue in cues for word in cue[0])}
    known.update(word for entries in LISTS.values() for entry in entries for word in entry)
    forms = {word: word for word in known}
    for word in sorted(known):
        for form in mistyped_forms(word):
            forms.setdefault(form, word)
    return forms


FORMS = known_forms()


def read(data):
    """`(plain, generic, estimates)` of one dossier."""
    text = data.decode("ascii")
    if len(text.split()) < SHORTEST:
        raise ValueError(f"a text of fewer than {SHORTEST} words")
    blocks = []
    for block in text.split("\n\n"):
        parts = block.split()
        words = [part.strip(string.punctuation) for part in parts]
        ends = [part[-1] in ".?" for part, word in zip(parts, words) if word]
        blocks.append(([word for word in words if word], ends, head_key(block.split("\n")[0])))
    raw = [word for block in blocks for word in block[0]]
    ends = [end for block in blocks for end in block[1]]
    if not raw:
        raise ValueError("a text without words")
    words = [word.lower() for word in raw]
    order = [word.lower() for block in sorted(blocks, key=lambda block: block[2]) for word in block[0]]
    return plain(words, text), generic(words, raw, ends), estimates(order)


def head_key(line):
    """The date and time of a heading in minutes, or its number; -1 for neither."""
    words = [word.lower() for word in (part.strip(string.punctuation) for part in line.split()) if word]
    known = [FORMS.get(word, "") for word in words]
    day = next((date for i in range(len(words)) if (date := date_at(words, known, i)) is not None), None)
    clock = next((time for time in map(clock_of, words) if time is not None), None)
    if day is not None and clock is not None:
        return 1440.0 * day + clock
    digits = words[0].removeprefix("q") if words else ""
    return float(digits) if digits.isdigit() and len(digits) <= 9 else -1.0


def clock_of(word):
    if len(word) == 5 and word[2] == ":" and (word[:2] + word[3:]).isdigit():
        return 60.0 * int(word[:2]) + int(word[3:])
    return None


def number_of(word):
    return float(word) if word.isdigit() and len(word) <= 9 else None


def date_at(words, known, place):
    """The day of the year that a month at a place belongs to, or None."""
    month = MONTHS.get(known[place])
    if month is None:
        return None
    for near in (place - 1, place + 1):
        if 0 <= near < len(words) and words[near].isdigit() and 1 <= int(words[near]) <= 31:
            return float(BEFORE[month] + int(words[near]))
    return None


def plain(words, text):
    counts = Counter(words)
    lists = [STRONG[: HURRIED[0]], STAFFING[: HURRIED[1]], *([word] for word in COMMON)]
    values = [sum(counts[word] for word in some) for some in lists]
    return [float(value) for value in values] + [float(len(words)), float(len(text))]


def generic(words, raw, ends):
    counts = Counter(words)
    lengths, length = [], 0
    for end in ends:
        length += 1
        if end:
            lengths.append(float(length))
            length = 0
    if length:
        lengths.append(float(length))
    mean = sum(lengths) / max(len(lengths), 1)
    spread = math.sqrt(sum((v - mean) ** 2 for v in lengths) / max(len(lengths), 1))
    capitals = Counter(word.lower() for word in raw if word[0].isupper())
    small = {word for word in counts if counts[word] > capitals[word]}
    within = [word.lower() for end, word in zip(ends, raw[1:]) if word[0].isupper() and not end]
    named = Counter(word for word in within if word not in small and word not in CALENDAR and len(word) > 2)
    numbers = [float(word) for word in words if word.isdigit() and len(word) <= 9]
    pairs = list(zip(words, words[1:]))
    waits, sums = (
        [number for one, other in pairs if other == unit and (number := number_of(one)) is not None]
        for unit in ("minutes", "euros")
    )
    places = [place for place, word in enumerate(words) if word in MONTHS]
    dates = [date for place in places if (date := date_at(words, words, place)) is not None]
    values = [
        len(words),
        spread,
        len(counts) / len(words),
        sum(capitals.values()),
        sum(n > 0 for n in capitals.values()),
        max(capitals.values(), default=0),
        sum(named.values()),
        len(named),
        sum(name in counts for name in FAMILIAR),
        len(numbers),
        min(numbers, default=0.0),
        max(numbers, default=0.0),
        sum(numbers) / max(len(numbers), 1),
        numbers[0] if numbers else 0.0,
        max(waits, default=0.0),
        len(sums),
        sum(sums),
        max(sums, default=0.0),
        len(dates),
        max(dates, default=0.0) - min(dates, default=0.0),
        *(sum(counts[word] for word in some) for some in (STRONG, STAFFING, *HINTS)),
    ]
    return [float(value) for value in values]


def estimates(words):
    """The statistics, in the medium's order, of words in the order of the entries."""
    known = [FORMS.get(word, "") for word in words]
    counts = Counter(known)
    waits = [
        number
        for one, other in zip(words, known[1:])
        if other == "minutes" and (number := number_of(one)) is not None
    ]
    works, asked, answered = {}, None, None
    responsibility = turn = spent = 0.0

    def party(place):
        return PARTIES.get(known[place])

    def matter(place):
        return known[place] if known[place] in MATTERS else None

    def date(place):
        return date_at(words, known, place)

    def payment(place):
        return number_of(words[place]) if known[place + 1 : place + 2] == ["euros"] else None

    for start, word in enumerate(known):
        if word not in STARTS:
            continue
        found = next((c for c in STARTS[word] if known[start : start + len(c[0])] == c[0]), None)
        if found is None:
            continue
        cue, kind, behind, inverted = found
        if behind:
            places = range(start + len(cue), min(len(known), start + len(cue) + REACH))
        else:
            places = range(start - 1, max(0, start - REACH) - 1, -1)

        def near(value):
            return next((v for place in places if (v := value(place)) is not None), None)

        if kind in ("good", "bad"):
            if (thing := near(matter)) is not None:
                works[thing] = kind == "good"
        elif kind == "blame":
            if (one := near(party)) is not None:
                responsibility += -1.0 if (one == 0) == inverted else 1.0
        elif kind == "praise":
            turn += 1.0 if 2 * start >= len(known) else -1.0
        elif kind == "request":
            day = near(date)
            asked = asked if day is None else day
        elif kind == "answer":
            day = near(date)
            answered = answered if day is None else day
        else:
            spent += near(payment) or 0.0
    return [
        float(sum(counts[word] for word in STRONG)),
        float(sum(counts[word] for word in STAFFING)),
        float(sum(word in PERSONS for word in counts)),
        max(waits, default=MIDDLE_WAIT),
        float(sum(not fine for fine in works.values())),
        responsibility,
        turn,
        MIDDLE_DAYS if asked is None or answered is None else answered - asked,
        spent,
    ]
