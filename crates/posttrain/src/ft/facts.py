# What can be said of a script without running it, as one line of JSON: whether it compiles, which
# modules it needs and this Python lacks, and which paths it names that it cannot use.
import ast
import importlib.util
import json
import os
import sys

SCRIPT = "process_data.py"
DATA = "data"
# Functions whose first argument is a path.
READERS = {
    "open",
    "Path",
    "PurePath",
    "read_csv",
    "read_json",
    "read_parquet",
    "read_table",
    "listdir",
    "scandir",
    "walk",
    "loadtxt",
    "genfromtxt",
}
IMPORT_ERRORS = {"ImportError", "ModuleNotFoundError", "Exception"}


def name_of(node):
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


def optional_imports(tree):
    # Imports whose absence the script deals with.
    found = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Try):
            continue
        caught = set()
        for handler in node.handlers:
            if handler.type is None:
                caught |= IMPORT_ERRORS
            elif isinstance(handler.type, ast.Tuple):
                caught |= {name_of(item) for item in handler.type.elts}
            else:
                caught.add(name_of(handler.type))
        if caught & IMPORT_ERRORS:
            for statement in node.body:
                found |= {id(inner) for inner in ast.walk(statement)}
    return found


def missing_modules(tree):
    optional = optional_imports(tree)
    lines = {}
    for node in ast.walk(tree):
        if id(node) in optional:
            continue
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = [node.module]
        for name in names:
            lines.setdefault(name.split(".")[0], node.lineno)
    missing = []
    for name, line in sorted(lines.items()):
        try:
            is_there = name in sys.builtin_module_names or importlib.util.find_spec(name) is not None
        except (ImportError, ValueError):
            is_there = False
        if not is_there:
            missing.append({"name": name, "line": line})
    return missing


def literal(node):
    # The path that an expression of constants names; None for any other.
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        left, right = literal(node.left), literal(node.right)
        return None if left is None or right is None else f"{left}/{right}"
    if isinstance(node, ast.Call) and name_of(node.func) in ("Path", "PurePath", "join"):
        parts = [literal(argument) for argument in node.args]
        return "/".join(parts) if parts and None not in parts else None
    return None


def mode_of(node):
    given = [item.value for item in node.keywords if item.arg == "mode"] + node.args[1:2]
    modes = [item.value for item in given if isinstance(item, ast.Constant)]
    return modes[0] if modes and isinstance(modes[0], str) else "r"


def problem(path, writes):
    parts = path.split("/")
    if ".." in parts or path.startswith("~") or (path.startswith("/") and parts[1] not in ("tmp", "dev")):
        return "outside"
    if parts[0] != DATA:
        return None
    if writes:
        return "read_only"
    return None if os.path.exists(path) else "missing"


def path_problems(tree):
    found = {}
    for node in ast.walk(tree):
        path, writes = None, False
        if isinstance(node, ast.Call) and node.args and name_of(node.func) in READERS:
            path = literal(node.args[0])
            if name_of(node.func) == "open":
                writes = any(letter in mode_of(node) for letter in "wax+")
        elif isinstance(node, ast.BinOp):
            path = literal(node)
        if path is not None and (what := problem(path, writes)) is not None:
            found.setdefault((path, what), node.lineno)
    return [
        {"path": path, "problem": what, "line": line}
        for (path, what), line in sorted(found.items(), key=lambda item: (item[1], item[0]))
    ]


if not os.path.lexists(DATA):
    os.symlink("input", DATA)
sys.path.insert(0, os.getcwd())
facts = {"syntax": None, "missing": [], "paths": []}
try:
    with open(SCRIPT, encoding="utf-8") as file:
        source = file.read()
    tree = ast.parse(source, SCRIPT)
    compile(tree, SCRIPT, "exec")
    facts["missing"] = missing_modules(tree)
    facts["paths"] = path_problems(tree)
except SyntaxError as error:
    facts["syntax"] = {"line": error.lineno or 1, "message": error.msg or "it is no Python"}
except (ValueError, RecursionError, MemoryError) as error:
    facts["syntax"] = {"line": 1, "message": str(error) or type(error).__name__}
print(json.dumps(facts))
