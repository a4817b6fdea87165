"""Measures prose as someone would who has read a few of the reports: complaints, haste, findings
made and denied, who is named, what was counted, when two things were done, and whether the first
and the last entry say the same.
"""
BAD = "awful bad broken careless dirty dreadful faulty horrible poor rotten shabby sloppy terrible useless worn"
HASTE = "anxiously desperately frantically hastily hurriedly immediately insistently quickly urgently"
CALM = "calmly carefully duly leisurely patiently politely quietly routinely slowly"
ONES = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
AMOUNT = rf"(\d+|(?:{'|'.join(TENS)})(?: (?:{'|'.join(ONES)}))?|{'|'.join(ONES)})"
CLOCK = r"(\d\d:\d\d)"
LITTLE = set("a an the in on of has have puts put says say hung hang with and then while make made to it its is was".split())


def amount(text):
    if text.isdigit():
        return float(text)
    return float(sum(ONES.index(word) if word in ONES else 20 + 10 * TENS.index(word) for word in text.split()))


def written_down(text, nouns):
    """When one of `nouns` was dealt with: `at 08:15` behind it or `toward 08:15` before it."""
    found = re.findall(rf"\b(?:{nouns}) (?:at|toward|around|by) {CLOCK}", text)
    found += re.findall(rf"\b(?:at|toward|around|by) {CLOCK} \w+ (?:\w+ )?\w+ (?:the|an?) (?:{nouns})\b", text)
    return np.mean([minutes(clock) for clock in found]) if found else np.nan


def entries(text, which):
    """The words that one of the two entries is made of."""
    name = rf"the (?:{which}) (?:line|entry|record|note)"
    found = re.search(rf"((?:\w+ ){{6,13}})says {name}\b", text) or re.search(rf"\b{name}\b((?: \w+){{6,12}})", text)
    return found and {word for word in found.group(1).split() if word not in LITTLE}


def measures(words, people):
    text = " ".join(words)
    held = Counter(words)
    out = {"words": len(words), "stops": held["."] + held[";"]}
    out["complaints"] = sum(held[word] for word in BAD.split())
    out["hasty"], out["calm"] = (sum(held[word] for word in kind.split()) for kind in (HASTE, CALM))
    out["people"] = sum(held[name] > 0 for name in people)
    # A finding stands or is denied; a denial of something else in the same breath does not count.
    made = len(re.findall(r"\b(?:was seen|not free of any|often (?:named|reported)|with an? \w+ in (?:view|sight)|(?:saw|met|noticed|found) an? \w+)\b", text))
    denied = len(re.findall(r"\b(?:was not seen|(?<!not )free of any|never (?:named|reported)|without an? \w+ in (?:view|sight)|(?:saw|met|noticed|found) no)\b", text))
    out["findings"], out["denied"], out["made"] = made + denied, denied, made
    out["denied share"] = denied / (made + denied) if made + denied else np.nan
    counted = re.findall(rf"\b(?:counted|tallied|totalled) {AMOUNT} \w+", text)
    out["counted"] = np.mean([amount(number) for number in counted]) if counted else np.nan
    spent = re.findall(rf"\b{AMOUNT} minutes", text)
    out["spent"] = np.mean([amount(number) for number in spent]) if spent else np.nan
    asked = written_down(text, "application|inquiry|request")
    answered = written_down(text, "approval|consent|signature")
    out["asked"], out["answered"], out["lead"] = asked, answered, answered - asked
    out["times"] = len(re.findall(CLOCK, text))
    first, last = entries(text, "first|early"), entries(text, "last|late")
    out["agreement"] = len(first & last) if first and last else np.nan
    return out


for name in texts:
    tokens, documents = documents_of(x[name])
    # Names are written with a capital and stand before what their bearers do.
    before = Counter(word.lower() for document in tokens for word, after in zip(document, document[1:])
                     if word[0].isupper() and re.fullmatch(r"\w+ly|never|often|met|saw|left|passed|noticed", after))
    others = Counter(word for document in tokens for word in document if word.islower())
    people = {word for word, n in before.items() if n >= 8 and others[word] < n / 10}
    told = pd.DataFrame([measures(document, people) for document in documents])
    told = told.loc[:, told[:N].notna().mean() > 0.3]
    told = told.fillna(told[:N].median())
    columns.update({f"{name}: {key}": told[key] for key in told})
