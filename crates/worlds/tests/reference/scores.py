"""Scores of FT-Dojo's tasks: a question as JSON a line in, the reference's answer out."""

import json
import re
import sys
import warnings

from nltk.translate.bleu_score import corpus_bleu
from rouge_score.rouge_scorer import RougeScorer
from sklearn.metrics import f1_score
from sklearn.preprocessing import MultiLabelBinarizer

warnings.filterwarnings("ignore")
ROUGE = RougeScorer(["rougeL"], use_stemmer=False)


def boxed(text):
    """The whole number in the last box, by a pattern for what such a box may hold."""
    boxes = text.split("\\boxed{")
    if len(boxes) == 1:
        return None
    match = re.match(r"[\s$]*(-?(?:\d+|\d{1,3}(?:,\d{3})+))[\s$]*\}", boxes[-1], re.ASCII)
    return int(match[1].replace(",", "")) if match else None


def set_f1(truth, answer):
    columns = MultiLabelBinarizer(classes=list("ABCDEFGH"))
    rows = columns.fit_transform([set(truth), set(answer)])
    return f1_score(rows[:1], rows[1:], average="samples", zero_division=0)


def macro_f1(truth, answers, classes):
    answers = [classes if answer is None else answer for answer in answers]
    return f1_score(truth, answers, labels=range(classes), average="macro", zero_division=0)


def final_answer(text):
    match = re.search(r"Final Answer: (.+)", text)
    return match[1] if match else None


def bleu(pairs):
    return corpus_bleu([[list(truth)] for truth, _ in pairs], [list(answer) for _, answer in pairs])


def rouge(truth, answer):
    return ROUGE.score(truth, answer)["rougeL"].fmeasure


FUNCTIONS = {
    "bleu": bleu,
    "boxed": boxed,
    "final_answer": final_answer,
    "macro_f1": macro_f1,
    "rouge": rouge,
    "set_f1": set_f1,
}

for line in sys.stdin:
    name, *arguments = json.loads(line)
    print(json.dumps(FUNCTIONS[name](*arguments)))
