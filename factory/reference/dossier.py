"""Measures long papers as someone would who has read a few of them: how each thing that broke down
stands at the end, whose fault it was, when thanks are given, how long an answer took, what was paid.
"""
ALARM = "unacceptable outrageous appalling disgraceful intolerable scandalous inexcusable shameful dreadful alarming"
MISSING = "understaffed overtime vacancies shorthanded sickness overstretched absentees undermanned"
MENDED = (
    "back in service|been put right|does its job|without a hitch|glad to have|passed its test|been cured"
    "|come off the list|spent two hours on|gave no more trouble|all is well|up and running|set straight"
    "|behaves as it should|was finished on|settled down|be content|the cause and removed|swapped for"
    "|the trouble to mend|good as new|came back from repair|quiet ever since|cause to complain"
)
BROKEN = (
    "failed once more|out of action|stopped working|its old tricks|let us down|given for the repair"
    "|been put off|fell through|showed up again|cannot be used|to switch off|broke down before"
    "|shook his head|doing without|was not granted|could not get|needs attention|has returned"
    "|failed its test|not been seen since|gave up the ghost|did not arrive|waiting for a spare|to keep away"
)
FIRST_AT_FAULT = (
    "was to blame|slipped up|owned up|was made by|had ignored|left the work undone|broke the agreement"
    "|apologised to|passed the blame"
)
SECOND_AT_FAULT = (
    "nothing wrong|had warned|held responsible|an apology to|was mistaken|caught an error|to make up for"
)
THANKS = (
    "our thanks|splendid job|a pleasure to see|without being asked|many thanks|very well|just the right words"
    "|spoke highly|pleasantly surprised|patience itself|been kinder|everyone laugh|a bouquet"
    "|round of applause|a great help|beyond the call|a cool head|thought of everything"
)
ASKED = "turned to the management|went off on|put in the request|was handed in on"
ANSWERED = "gave its answer|reached us on|came to a decision|was shown the verdict"
PAID = (
    "has been settled|paid out|were transferred|looking after|of the cash box|the treasurer released"
    "|was paid in full|signed the transfer"
)
MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
MONTH = rf"((?:{'|'.join(MONTHS)})[a-z]*)"
DATE = rf"\b(?:(\d+) {MONTH}|{MONTH} (\d+))\b"
BESIDE = set("engineer repair same fault trouble work parts money appointment second first middle list morning".split())


def day(text):
    """The first date of a text, in days of a year of equal months."""
    found = re.search(DATE, text)
    if not found:
        return np.nan
    number, month, other, behind = found.groups()
    return 30.4 * MONTHS.index((month or other)[:3]) + int(number or behind)


def place_of(entry):
    """What an entry is put in order by: the date and time above it, or its number."""
    head = entry.split("\n")[0].lower()
    clock = re.search(r"\b(\d\d):(\d\d)$", head)
    if clock:
        return 1440 * day(re.sub(r"[^a-z0-9 ]", "", head)) + 60 * int(clock[1]) + int(clock[2])
    number = re.match(r"q?(\d+)[.:]", head)
    return float(number[1]) if number else -1.0


def in_order(text):
    """A paper without the lines above its entries, and these in order."""
    kept = [(place_of(entry), entry) for entry in str(text).split("\n\n")]
    return " ".join(
        re.sub(r"^(?:\d+\. |Q\d+: .*\nA\d+: )|^.*\n", "", entry)
        for place, entry in sorted(kept, key=lambda pair: pair[0])
        if place >= 0
    )


def things_in(sentence):
    return [word for word in re.findall(r"\bthe (\w+)", sentence) if word not in BESIDE]


def measures(words, common, parties, people):
    text = " ".join(words)
    sentences = [sentence.strip() for sentence in text.split(" .")]
    held = Counter(words)
    out = {"words": len(words)}
    out["alarm"] = sum(held[word] for word in ALARM.split())
    out["missing"] = sum(held[word] for word in MISSING.split())
    out["people"] = sum(held[name] > 0 for name in people)
    waits = [float(number) for number in re.findall(r"\b(\d+) minutes\b", text)]
    out["wait"] = max(waits, default=np.nan)
    works, fault, thanks, paid, seen = {}, 0, 0, 0.0, 0
    asked = answered = np.nan
    for sentence in sentences:
        seen += len(sentence.split())
        news = [kind for kind, pattern in ((True, MENDED), (False, BROKEN)) if re.search(pattern, sentence)]
        things = [word for word in things_in(sentence) if common[word]]
        if news and things:
            works[max(things, key=common.get)] = news[0]
        named = [word for word in things_in(sentence) if word in parties]
        if len(set(named)) == 2:
            if re.search(FIRST_AT_FAULT, sentence):
                fault += 1 if named[0] == parties[0] else -1
            elif re.search(SECOND_AT_FAULT, sentence):
                fault += 1 if named[0] == parties[1] else -1
        if re.search(THANKS, sentence):
            thanks += 1 if 2 * seen > len(words) else -1
        if re.search(ASKED, sentence) and not np.isnan(day(sentence)):
            asked = day(sentence)
        if re.search(ANSWERED, sentence) and not np.isnan(day(sentence)):
            answered = day(sentence)
        if re.search(PAID, sentence):
            paid += sum(float(number) for number in re.findall(r"\b(\d+) euros", sentence)[:1])
    sums = [float(number) for number in re.findall(r"\b(\d+) euros", text)]
    out["open"], out["things"] = sum(not fine for fine in works.values()), len(works)
    out["fault"], out["thanks"], out["answer"] = fault, thanks, answered - asked
    out["paid"], out["sums"], out["largest"] = paid, sum(sums), max(sums, default=0.0)
    return out


for name in texts:
    tokens, documents = documents_of(x[name].fillna("").map(in_order))
    told = [sentence for words in documents for sentence in " ".join(words).split(" .")]
    common = Counter(w for s in told if re.search(rf"{MENDED}|{BROKEN}", s) for w in set(things_in(s)))
    common = Counter({word: n for word, n in common.items() if n > 0.02 * len(documents)})
    blamed = [s for s in told if re.search(rf"{FIRST_AT_FAULT}|{SECOND_AT_FAULT}", s)]
    parties = [word for word, _ in Counter(w for s in blamed for w in set(things_in(s))).most_common(2)]
    # Names are written with a capital wherever they stand.
    capital = Counter(
        word.lower()
        for words in tokens
        for before, word in zip(words, words[1:])
        if word[0].isupper() and before not in ".;"
    )
    small = Counter(word for words in tokens for word in words if word.islower())
    others = {"mr", "ms", "i", *"monday tuesday wednesday thursday friday saturday sunday".split()}
    people = [
        word
        for word, n in capital.items()
        if n >= 8 and small[word] < n / 10 and word not in others and word[:3] not in MONTHS
    ]
    told = pd.DataFrame([measures(words, common, parties, people) for words in documents])
    told = told.loc[:, told[:N].notna().mean() > 0.3]
    told = told.fillna(told[:N].median())
    columns.update({f"{name}: {key}": told[key] for key in told})
