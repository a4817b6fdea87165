# Reads tokens aloud: `speak(token, kind, style)`, where a style names an option of each convention.
import re

ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
).split()
TENS = "x x twenty thirty forty fifty sixty seventy eighty ninety".split()
PLACES = dict(
    zip(
        "one two three five eight nine twelve".split(),
        "first second third fifth eighth ninth twelfth".split(),
    )
)
MONTHS = (
    "january february march april may june july august september october november december"
).split()
COINS = {
    "$": ("dollar", "dollars", "cent", "cents"),
    "£": ("pound", "pounds", "penny", "pence"),
    "€": ("euro", "euros", "cent", "cents"),
}
UNITS = {
    "kg": "kilogram", "km": "kilometre", "cm": "centimetre", "ml": "millilitre", "MB": "megabyte",
    "kWh": "kilowatt hour", "mg": "milligram",
}  # fmt: skip
PARTS = "x x half third quarter fifth sixth seventh eighth ninth tenth".split()
SHORT = {
    "St.": ("saint", "street"), "Dr.": ("doctor", "drive"), "Col.": ("colonel", "column"),
    "Cap.": ("captain", "capacity"),
}  # fmt: skip
ROMAN = {"X" * (n // 10) + " I II III IV V VI VII VIII IX".split(" ")[n % 10]: n for n in range(1, 40)}
SHAPES = [
    (r"1\d{3}", "year count"), (r"\d+", "count"), (r"\d+/\d+", "date fraction"),
    (r"\d+:\d+", "time ratio"), (r"\d+\.\d+", "decimal"), (r"\d+-\d+", "phone"),
    (r"[$£€].*", "money"), (r"\d+%", "percent"), (r"\d.* .*", "measure"), (r"\d.*", "ordinal"),
]  # fmt: skip


def kinds(w):
    for shape, names in SHAPES:
        if re.fullmatch(shape, w):
            return names.split()
    if w in SHORT:
        return ["first", "second"]
    if w in ROMAN:
        return ["roman_ordinal", "roman_number"]
    return ["letters"] if len(w) > 1 and re.fullmatch("[A-Z]+", w) else ["plain"]


def hundred(n, s):
    rest = n % 100
    joint = " and " if s["hundreds"] == "and" else " "
    return cardinal(n // 100, s) + " hundred" + (joint + cardinal(rest, s) if rest else "")


def cardinal(n, s):
    n = int(n)
    if n < 20:
        return ONES[n]
    if n < 100:
        joint = "-" if s["tens"] == "hyphen" else " "
        return TENS[n // 10] + (joint + ONES[n % 10] if n % 10 else "")
    if n < 1000 or (n < 10000 and s["thousands"] == "hundreds" and n % 1000 >= 100):
        return hundred(n, s)
    rest = n % 1000
    joint = " and " if rest < 100 and s["hundreds"] == "and" else " "
    return cardinal(n // 1000, s) + " thousand" + (joint + cardinal(rest, s) if rest else "")


def ordinal(n, s):
    before, joint, last = re.fullmatch(r"(?:(.*)([ -]))?([a-z]+)", cardinal(n, s)).groups("")
    last = PLACES.get(last) or (last[:-1] + "ieth" if last.endswith("y") else last + "th")
    return before + joint + last


def digits(w, s):
    return " ".join(ONES[int(c)] if c != "0" else s["zero"] for c in w)


def padded(w, s):
    rest = w.lstrip("0")
    return " ".join([s["zero"]] * (len(w) - len(rest)) + ([cardinal(rest, s)] if rest else []))


def decimal(w, s):
    whole, rest = w.split(".")
    way = s["decimal"]
    if way == "and_hundredths":
        part = ["tenths", "hundredths", "thousandths"][len(rest) - 1]
        return f"{cardinal(whole, s)} and {cardinal(rest, s)} {part}"
    joint = "comma" if way == "comma_digits" else "point"
    return f"{cardinal(whole, s)} {joint} {(padded if way == 'point_number' else digits)(rest, s)}"


def date(w, s):
    a, b = map(int, w.split("/"))
    first = s["date"] in ("month_day", "month_the_day")
    month, day = (b, a) if a > 12 else (a, b) if b > 12 or first else (b, a)
    if not 1 <= month <= 12:
        return None
    month, day = MONTHS[month - 1], ordinal(day, s)
    if s["date"] == "day_of_month":
        return f"the {day} of {month}"
    return f"{month} the {day}" if s["date"] == "month_the_day" else f"{month} {day}"


def fraction(w, s):
    a, b = map(int, w.split("/"))
    if not (2 <= b <= 10 and a < b):
        return None
    if s["fraction"] == "quarters":
        return f"{cardinal(a, s)} {PARTS[b]}" + "s" * (a > 1)
    if s["fraction"] == "parts":
        return f"{cardinal(a, s)} parts in {cardinal(b, s)}"
    return f"{cardinal(a, s)} {s['fraction'].replace('_', ' ')} {cardinal(b, s)}"


def time(w, s):
    hour, minute = map(int, w.split(":"))
    if not (1 <= hour <= 12 and minute < 60):
        return None
    now, following, m = cardinal(hour, s), cardinal(hour % 12 + 1, s), cardinal(minute, s)
    way = s["time"]
    if way == "hours":
        return f"{now} hours {m}" if minute else f"{now} hours"
    if minute == 0:
        return f"{now} o'clock"
    if way == "two_numbers":
        return f"{now} {s['zero']} {m}" if minute < 10 else f"{now} {m}"
    if way == "quarters" and minute in (15, 30):
        return f"{'quarter' if minute == 15 else 'half'} past {now}"
    if way == "quarters" and minute > 30:
        return f"{'quarter' if minute == 45 else cardinal(60 - minute, s)} to {following}"
    return f"{m} past {now}"


def money(w, s):
    one, many, coin, coins = COINS[w[0]]
    whole, _, rest = w[1:].partition(".")
    name = one if whole == "1" else many
    if not rest:
        return f"{cardinal(whole, s)} {name}"
    n, cents = cardinal(whole, s), cardinal(rest, s)
    return {
        "and_cents": f"{n} {name} and {cents} {coin if int(rest) == 1 else coins}",
        "bare_cents": f"{n} {name} {cents}",
        "two_numbers": f"{n} {padded(rest, s)}",
        "decimal": f"{n} point {digits(rest, s)} {many}",
    }[s["money"]]


def phone(w, s):
    a, b = w.split("-")
    if s["phone"] == "digits":
        return digits(a + b, s)
    if s["phone"] == "doubles":
        runs = re.findall(r"(\d)\1|(\d)", a + b)
        return " ".join(f"double {digits(two, s)}" if two else digits(one, s) for two, one in runs)
    if s["phone"] == "dash":
        return f"{digits(a, s)} dash {digits(b, s)}"
    return f"{digits(a, s)} {padded(b[:2], s)} {padded(b[2:], s)}"


def measure(w, s):
    value, unit = w.split(" ")
    amount = decimal(value, s) if "." in value else cardinal(value, s)
    if s["measure"] == "letters":
        return f"{amount} {' '.join(unit.lower())}"
    return f"{amount} {UNITS[unit]}" + "s" * (s["measure"] == "plural" and value != "1")


def speak(w, kind, s):
    if kind == "year":
        n, rest = int(w), int(w) % 100
        if s["year"] == "hundreds" or (s["year"] == "pairs" and not rest):
            return hundred(n, s)
        pairs = f"{cardinal(n // 100, s)} {'oh ' * (rest < 10)}{cardinal(rest, s)}"
        return pairs if s["year"] == "pairs" else cardinal(n, s)
    if kind == "count":
        return cardinal(w, s)
    if kind == "ordinal":
        n = w.rstrip("sthndr")
        return ordinal(n, s) if s["ordinal"] == "ordinal" else f"number {cardinal(n, s)}"
    if kind == "ratio":
        a, b = w.split(":")
        return f"{cardinal(a, s)} {s['ratio']} {cardinal(b, s)}"
    if kind == "percent":
        return f"{cardinal(w[:-1], s)} {s['percent'].replace('_', ' ')}"
    if kind in ("first", "second"):
        return SHORT[w][kind == "second"]
    if kind == "roman_ordinal":
        return f"the {ordinal(ROMAN[w], s)}"
    if kind == "roman_number":
        return cardinal(ROMAN[w], s)
    if kind == "letters":
        letters = w if s["letters"] == "upper" else w.lower()
        return "".join(c + "." for c in letters) if s["letters"] == "dotted" else " ".join(letters)
    own = {"decimal": decimal, "date": date, "fraction": fraction, "time": time, "money": money,
           "phone": phone, "measure": measure}  # fmt: skip
    return own[kind](w, s) if kind in own else w


def around(sentence, w):
    before, _, behind = sentence.partition(f" {w} ")
    return before.split(" ")[-1], behind.split(" ")[0]


def answers(a, b, t):
    rows = list(zip(a.iloc[:, 1].astype(str), a.iloc[:, 2].astype(str), a[t].astype(str)))
    seen = [
        (kinds(w), around(s, w), k)
        for s, w, y in rows
        for k in kinds(w)
        if [speak(w, j, STYLE) == y for j in kinds(w)].count(True) == 1 and speak(w, k, STYLE) == y
    ]
    said = []
    for s, w in zip(b.iloc[:, 1].astype(str), b.iloc[:, 2].astype(str)):
        words = around(s, w)

        def votes(kind):
            shared = [sum(map(str.__eq__, u, words)) for g, u, k in seen if g == kinds(w) and k == kind]
            return -sum((1, 100, 10000)[n] for n in shared)

        ways = [speak(w, k, STYLE) for k in sorted(kinds(w), key=votes)]
        said.append(next((way for way in ways if way), w))
    return said


