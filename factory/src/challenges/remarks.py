# Takes remarks apart and copies pieces: `answers(a, b, t)`, with the conventions in STYLE.
import re

PRAISE = (
    "pleasant helpful splendid excellent reliable delightful charming superb impressive lovely "
    "wonderful outstanding perfect great cheerful fine brilliant adorable good marvellous"
).split()
COMPLAINT = (
    "dreadful annoying useless awful disappointing tiresome hopeless poor unpleasant irritating "
    "terrible miserable mediocre horrible unreliable bad frustrating sloppy ghastly unhelpful"
).split()
STRONG = "really truly extremely absolutely utterly incredibly".split()
WEAK = "rather fairly somewhat slightly mostly".split()
NOT = "not never hardly".split()
CONJUNCTIONS = "but and yet while".split()
VERBS = "was seemed felt looked remained proved is has".split()


def clauses(text):
    found, words = [], []
    for m in re.finditer(r"[^ ]+", text):
        bare = m[0].rstrip(",;.!")
        words.append((m.start(), m.start() + len(bare), bare.lower()))
        if bare != m[0]:
            found, words = found + [clause(words)], []
    return [c for c in found if c]


def clause(words):
    starts, ends, w = (list(part) for part in zip(*words))
    w += ["", "", "", ""]
    subject = int(w[0] in CONJUNCTIONS)
    verb = next((i for i in range(subject, len(words)) if w[i] in VERBS), None)
    if verb is None or verb + 1 == len(words):
        return None
    core = verb + 1 + (w[verb + 1] in STRONG + WEAK)
    first = core + (w[core] in NOT)
    known = PRAISE if w[first] in PRAISE else COMPLAINT if w[first] in COMPLAINT else []
    last = first + 2 * (w[first + 1] == "and" and w[first + 2] in known)
    attitude = {"p": "praise", "d": "complaint"}[known[0][0]] if known else "neutral"
    if not known:
        core = first = last = verb
    return {
        "attitude": attitude, "negated": first > core, "words": len(words), "plain": not known,
        "degree": 2 if w[verb + 1] in STRONG else int(w[verb + 1] not in WEAK),
        "from": {"subject": starts[subject], "conjunction": starts[0], "verb": starts[verb],
                 "degree": starts[verb + 1], "opinion": starts[core]},
        "to": {"clause": ends[-1], "opinion": ends[last], "first": ends[first]},
    }  # fmt: skip


def attitude(c):
    if not c["negated"]:
        return c["attitude"]
    turned = {"praise": "complaint", "complaint": "praise"}
    return turned[c["attitude"]] if STYLE["negation"] == "turned" else "neutral"


def cut(text, start, end):
    marks = re.match("[,;.!]*", text[end:]).end()
    return text[start : end + marks * (STYLE["mark"] == "with")]


def piece(text, asked):
    found = clauses(text)
    if asked == "neutral":
        if STYLE["neutral"] == "text":
            return cut(text, 0, len(text.rstrip(",;.!")))
        ranked = [c for c in found if c["plain"] or STYLE["neutral"] != "plain"]
        c = ranked[-1 if STYLE["neutral"] == "closing" else 0]
        return cut(text, c["from"]["subject"], c["to"]["clause"])
    shows = [c for c in found if attitude(c) == asked]
    if STYLE["winner"] == "last":
        shows = shows[::-1]
    key = {"strongest": "degree", "longest": "words"}.get(STYLE["winner"])
    c = max(shows, key=lambda c: c[key] if key else 0)
    return cut(text, c["from"][STYLE[asked + "_from"]], c["to"][STYLE[asked + "_to"]])


def answers(a, b, t):
    return [piece(text, asked) for text, asked in zip(b.iloc[:, 1], b.iloc[:, 2])]


