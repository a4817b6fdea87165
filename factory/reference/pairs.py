"""Compares the two notes of a row: described alike, the same details in other words, counts, times,
and the order in which they come."""

# Words that mean the same, one line for each kind of detail.
ALIKE = {
    "who": "doctor=physician customer=client driver=chauffeur guard=watchman teacher=tutor nurse=carer",
    "place": "yard=courtyard attic=loft corridor=hallway garden=park office=bureau cellar=basement",
    "day": "monday=mon tuesday=tue wednesday=wed thursday=thu friday=fri saturday=sat sunday=sun",
    "colour": "red=scarlet=crimson brown=chestnut yellow=amber green=emerald blue=azure grey=slate=gray",
    "material": "wooden=timber=wood leather=hide metal=steel cotton=cloth glass=crystal paper=card",
    "daytime": "night=midnight noon=midday dawn=sunrise morning=forenoon evening=dusk",
}
MEANS = {}
for kind, line in ALIKE.items():
    for group in line.split():
        for word in group.split("="):
            MEANS[word] = kind, group
FORMS = {
    "who": r"\bthe (\w+) (?:brought|sent|took|carried) it\b",
    "place": r"\bit (?:stood|lay|was) in the (\w+)",
    "day": r"\bout on (\w+)",
    "colour": r"\bthe \w+ was (\w+)",
    "material": r"\bthe \w+ was (\w+)",
    "daytime": r"\bit was (\w+) by then",
}


def noted(words):
    """What a note tells: details with their places in it, describing words, counts and times."""
    text = " ".join(words)
    told, places = {}, {}
    for kind, form in FORMS.items():
        for found in re.finditer(form, text):
            sense = MEANS.get(found.group(1))
            if sense and sense[0] == kind:
                told[kind], places[kind] = sense[1], found.start()
    meant = re.search(r"\b(\w+) (\d+) was meant", text)
    if meant:
        told["meant"], places["meant"] = meant.group(2), meant.start()
    described = {word for three in re.findall(r"\bit looked (\w+) (\w+) and (\w+)", text) for word in three}
    counted = re.search(r"\b(?:counted|tallied|totalled) (\d+)", text)
    found = re.search(r"\b(?:found|discovered|spotted|seen) at (\d\d:\d\d)", text)
    sent = re.search(r"\b(?:typed|sent|written) at (\d\d:\d\d)", text)
    numbers = [float(counted.group(1)) if counted else np.nan, *(minutes(t.group(1)) if t else np.nan for t in (found, sent))]
    return told, places, described, numbers, len(words)


def compared(left, right):
    (told, places, described, numbers, length), (others, elsewhere, also, counts, size) = noted(left), noted(right)
    both = [kind for kind in told if kind in others]
    out = {f"same {kind}": float(told[kind] == others[kind]) if kind in both else np.nan for kind in [*FORMS, "meant"]}
    six = [kind for kind in both if kind != "meant"]
    out["same details"] = np.mean([told[kind] == others[kind] for kind in six]) * 6 if six else np.nan
    turns = [(places[a] - places[b]) * (elsewhere[a] - elsewhere[b]) < 0 for a in both for b in both if a < b]
    out["turned"] = np.mean(turns) if turns else np.nan
    out["overlap"] = 2 * len(described & also) / max(1, len(described) + len(also))
    out["described"] = len(described | also)
    out["length ratio"] = np.log(size / length)
    out["longer"] = length + size
    gap = [b - a for a, b in zip(numbers, counts)]
    out["count gap"] = abs(gap[0]) / max(numbers[0], counts[0], 1.0) if gap[0] == gap[0] else np.nan
    out["later"], out["sent later"] = gap[1], gap[2]
    out["apart"], out["sent apart"] = abs(gap[1]), abs(gap[2])
    words, alike = set(left), set(right)
    out["shared words"] = len(words & alike) / len(words | alike)
    return out


sides = [documents_of(x[name])[1] for name in texts[:2]]
seen = pd.DataFrame([compared(*pair) for pair in zip(*sides)])
seen = seen.loc[:, seen[:N].notna().mean() > 0.3]
for key in seen:
    columns[f"pair: {key}"] = seen[key].fillna(seen[key][:N].median())

