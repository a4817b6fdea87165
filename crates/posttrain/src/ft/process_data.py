# Makes training data from the raw data, as PLAN says, without any model.
import csv
import itertools
import json
import random
import re
import sys

DEBUG = "--debug" in sys.argv
# Samples that a debug run writes.
FEW = 100
filters = []
raw = 0


def keep(name, rows, test):
    kept = [row for row in rows if test(row)]
    filters.append({"name": name, "seen": len(rows), "kept": len(kept)})
    return kept


def read_lines(path):
    global raw
    with open(path, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    raw += len(rows)
    return rows


def ending(answer):
    # The answer in the form that the task's scorer reads.
    return {"boxed": f"\\boxed{{{answer}}}", "final": f"Final Answer: {answer}"}[PLAN["form"]]


SYSTEM = PLAN["examples"][0][0]


def sample(question, steps, end, system=SYSTEM):
    return {"instruction": question, "system": system, "output": f"{steps}\n{end}"}


def mathematics(subset):
    def with_steps(row):
        return len(row["solution"].split()) >= PLAN["reasoning_words"]

    rows = keep("has a solution", read_lines("data/mathematics/problems.jsonl"), with_steps)
    return [sample(row["problem"], row["solution"], ending(row["answer"])) for row in rows]


def in_lines(table):
    rows = [table["columns"]] + table["data"]
    return "\n".join(" | ".join(str(cell) for cell in row) for row in rows)


def tables(subset):
    rows = read_lines("data/tables/questions.jsonl")
    # The part that is asked for is no filter: nothing of it is dropped.
    rows = [row for row in rows if row["qtype"] == subset]

    def question(row):
        return f"{in_lines(row['table'])}\n\n{row['question']}"

    if PLAN["form"] == "program":
        return [
            {"instruction": question(row), "system": SYSTEM, "output": row["response"]}
            for row in keep("is a program", rows, lambda row: row["response"].startswith("```python"))
        ]
    rows = keep("reasons in words", rows, lambda row: row["instruction_type"] == "TCoT")
    found = []
    for row in rows:
        steps, _, answer = row["response"].rpartition("\nFinal Answer: ")
        found.append(sample(question(row), steps, ending(answer)))
    return keep("has steps", found, lambda it: len(it["output"].split()) > PLAN["reasoning_words"] + 3)


# Sums of up to three numbers, and how they are written.
SUMS = [
    ("{a} * {b} / 100", lambda a, b: a * b / 100),
    ("{a} / {b}", lambda a, b: a / b),
    ("{a} / {b} * 100", lambda a, b: a / b * 100),
    ("({a} - {b}) / {a} * 100", lambda a, b: (a - b) / a * 100),
    ("{a} * {b} * {c} / 100", lambda a, b, c: a * b * c / 100),
    ("({a} - {b}) / {c}", lambda a, b, c: (a - b) / c),
    ("({a} - {b}) * {c}", lambda a, b, c: (a - b) * c),
    ("({a} - {b}) * {c} / 100", lambda a, b, c: (a - b) * c / 100),
    ("{a} - {a} * {b} * {c} / 36000", lambda a, b, c: a - a * b * c / 36000),
    ("{a} / (1 + {b} / 100)^{c}", lambda a, b, c: a / (1 + b / 100) ** c),
    ("{a} * (1 + {b} / 100)^{c}", lambda a, b, c: a * (1 + b / 100) ** c),
    ("{a} * (1 + {b} * {c} / 100)", lambda a, b, c: a * (1 + b * c / 100)),
]


def worked(row):
    # A sum of the question's numbers that makes the right option and no other one.
    numbers = [float(number) for number in re.findall(r"\d+(?:\.\d+)?", row["Question"])]
    try:
        options = {letter: float(row[letter]) for letter in "ABCD"}
    except ValueError:
        return None
    right = options[row["Answer"]]
    for text, value in SUMS:
        count = value.__code__.co_argcount
        for chosen in itertools.permutations(numbers[:4], count):
            try:
                found = value(*chosen)
            except (ZeroDivisionError, OverflowError):
                continue
            if abs(found - right) < 0.006:
                return text.format(**dict(zip("abc", (f"{number:g}" for number in chosen), strict=False)))
    return None


def finance(subset):
    global raw
    rows = []
    for exam in PLAN["exams"]:
        with open(f"data/finance/{exam}", encoding="utf-8", newline="") as file:
            rows.extend(csv.DictReader(file))
    raw += len(rows)
    pairs = keep("is worked out", [(row, worked(row)) for row in rows], lambda pair: pair[1])
    found = []
    for row, steps in pairs:
        options = "\n".join(f"{letter}. {row[letter]}" for letter in "ABCD")
        found.append(
            {
                "instruction": f"{row['Question']}\n{options}",
                "system": SYSTEM,
                "output": f"{steps}. Answer: {row['Answer']}",
            }
        )
    return found


def elements(claim):
    # "A pump with a belt, a fan and a seal." has belt, fan and seal.
    listed = claim.rstrip(".").partition(" with ")[2]
    return [re.sub(r"^an? ", "", part) for part in re.split(r", | and ", listed)]


def other_words():
    # What paragraphs call each element: what most of them do, because some labels are wrong.
    votes = {}
    for row in read_lines("data/patents/pi4pc.jsonl"):
        text = row["paragraphs"][str(row["gold_answers"][0])]
        called = re.search(r"\b[Aa]n? ([a-z ]+?)(?:\.| is | makes )", text)
        if called:
            of = votes.setdefault(row["element"], {})
            of[called[1]] = of.get(called[1], 0) + 1
    return {name: max(of, key=of.get) for name, of in votes.items()}


def found_in(document, claim, names):
    has = {names.get(word, word) for word in elements(document)}
    return [name for name in claim if name in has]


def cited(documents, claim, names):
    # The fewest documents that have the claim: one, or two of one field; None if several do.
    found = {key: found_in(text, claim, names) for key, text in documents.items()}
    field = {key: text.partition(":")[0] for key, text in documents.items()}
    alone = [[key] for key in found if len(found[key]) == len(claim)]
    pairs = [
        [one, two]
        for one, two in itertools.combinations(found, 2)
        if field[one] == field[two] and len({*found[one], *found[two]}) == len(claim)
    ]
    return found, alone, pairs


def patents(subset):
    called = other_words()
    names = {word: name for name, word in called.items()}
    rows = read_lines(f"data/patents/{subset}.jsonl")
    samples = []
    for row in rows:
        claim = elements(row["claim"])
        head = f"Claim: {row['claim']}"
        if subset == "pi4pc":
            answer, word = str(row["gold_answers"][0]), called.get(row["element"], "")
            lines = [f"[{key}] {text}" for key, text in row["paragraphs"].items()]
            lines.sort(key=lambda line: int(line[1:].partition("]")[0]))
            head += f"\nElement: {row['element']}"
            is_right = word and word in row["paragraphs"][answer].lower()
            article = "an" if word[:1] in "aeiou" else "a"
            steps, answer = f"The {row['element']} is {article} {word}.", {"answer": answer}
        elif subset == "noc4pc":
            documents = {str(i + 1): text for i, text in enumerate(row["prior_art"])}
            found, alone, pairs = cited(documents, claim, names)
            code = "102" if alone else "103" if pairs else "ALLOW"
            lines = [f"{key}. {text}" for key, text in documents.items()]
            has = [f"{key} has {', '.join(found[key]) or 'nothing'}." for key in documents]
            is_right = code == row["answer"]
            steps, answer = " ".join(has), {"code": code}
        else:
            found, alone, pairs = cited(row["options"], claim, names)
            lines = [f"{key}. {text}" for key, text in row["options"].items()]
            gold = row["gold_answers"]
            is_right = gold in (alone or pairs)
            steps = " ".join(f"{key} has {', '.join(found[key])}." for key in gold)
            answer = {"answer": gold}
        question = "\n".join([head, *lines])
        samples.append((is_right, sample(question, steps, json.dumps(answer))))
    kept = keep("label follows from the texts", samples, lambda pair: pair[0])
    return [it for _, it in kept]


def kind(answer):
    # What a scorer asks for in another system message.
    if str(answer).isdigit():
        return "number"
    if answer in ("Yes", "No"):
        return "yes or no"
    return "letter" if answer in ("A", "B", "D") else "molecule"


def is_closed(molecule):
    # Each ring's digit is there twice; digits in brackets are no rings.
    digits = re.sub(r"\[[^]]*\]", "", molecule)
    return all(digits.count(digit) % 2 == 0 for digit in "123456789")


def chemistry(subset):
    rows = read_lines(f"data/chemistry/{subset}.jsonl")
    rows = keep("is a molecule", rows, lambda row: is_closed(row["meta"]["molecule"]))
    systems = {}
    for system, text in PLAN["examples"]:
        systems[kind(json.loads(text[text.rindex("{") :])["output"])] = system
    found = []
    for row in rows:
        molecule, answer = row["meta"]["molecule"], row["meta"]["reference"]
        question = row["query"].removesuffix(f" Molecule: {molecule}")
        of = "letter" if row["subtask"] == "mechanism" else kind(answer)
        value = int(answer) if of == "number" else answer
        # The text is of uneven quality; the object beside it is right.
        steps, end = row["struct_cot"]["steps"], json.dumps({"output": value})
        system = systems.get(of, SYSTEM)
        found.append(sample(f"Molecule: {molecule}\n{question}", steps, end, system))

    def has_steps(it):
        return len(it["output"].split()) >= PLAN["reasoning_words"] + 2

    return keep("has steps", found, has_steps)


def conversation(messages):
    # The question and the answer of a conversation of one turn; of others nothing.
    texts = [it["content"] for it in messages if it["role"] != "system"]
    roles = [it["role"] for it in messages if it["role"] != "system"]
    return texts if roles == ["user", "assistant"] else None


def question_and_answer(row):
    # Of a row in one of the forms that people write.
    if "messages" in row:
        return conversation(row["messages"])
    if "instruction" in row and "output" in row:
        more = row.get("input")
        return [f"{row['instruction']}\n{more}" if more else row["instruction"], row["output"]]
    for question, answer in (("prompt", "completion"), ("question", "answer")):
        if question in row and answer in row:
            return [row[question], row[answer]]
    return None


def rows_of(source):
    global raw
    rows = []
    for name in PLAN["files"][source]:
        with open(f"data/{source}/{name}", encoding="utf-8", newline="") as file:
            if name.endswith(".csv"):
                rows += csv.DictReader(file)
            elif name.endswith(".json"):
                rows += json.load(file)
            else:
                rows += [json.loads(line) for line in file if line.strip()]
    raw += len(rows)

    def is_whole(pair):
        return pair is not None and all(isinstance(text, str) and text.strip() for text in pair)

    pairs = keep("has a question and an answer", [question_and_answer(row) for row in rows], is_whole)
    return [{"instruction": question, "system": SYSTEM, "output": answer} for question, answer in pairs]


def ordered(samples, rule, stream):
    stream.shuffle(samples)
    if rule == "difficulty":
        return sorted(samples, key=lambda it: -len(it["output"].split()))
    if rule == "quality":
        return samples
    # Diversity: one of each beginning in turn.
    groups = {}
    for it in samples:
        groups.setdefault(" ".join(it["instruction"].split()[:3]), []).append(it)
    rounds = itertools.zip_longest(*groups.values())
    return [it for row in rounds for it in row if it is not None]


def unseen(samples):
    seen = set()

    def is_new(it):
        return it["instruction"] not in seen and not seen.add(it["instruction"])

    return keep("was not there before", samples, is_new)


SOURCES = {
    "mathematics": mathematics,
    "tables": tables,
    "finance": finance,
    "patents": patents,
    "chemistry": chemistry,
}
stream = random.Random(PLAN["seed"])
chosen = []
for part in PLAN["sources"]:
    if PLAN["form"] == "rows":
        samples = rows_of(part["source"])
    else:
        samples = SOURCES[part["source"]](part.get("subset"))
    samples = unseen(samples)
    if PLAN["most_words"] is not None:

        def short(it):
            return len(it["output"].split()) <= PLAN["most_words"]

        samples = keep("is short", samples, short)
    samples = ordered(samples, PLAN["sampling"], stream)
    chosen += samples[: max(1, round(part["share"] * PLAN["target"]))]
stream.shuffle(chosen)
estimate = len(chosen)
if DEBUG:
    chosen = chosen[:FEW]
with open("data.json", "w", encoding="utf-8") as file:
    json.dump(chosen, file, ensure_ascii=False, indent=1)
summary = {
    "raw": raw,
    "sampled": raw,
    "filters": filters,
    "written": len(chosen),
    "estimate": estimate,
}
print("SUMMARY " + json.dumps(summary))
