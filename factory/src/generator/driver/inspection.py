# --- inspection: a generator as text --------------------------------------------------------------
# Follows `step.py`.

import ast
import builtins
import json
import platform

import numpy as np

# What a generator may import. This is for repeatability; safety is the jail's.
ALLOWED = ("numpy", "scipy", "pandas", "math", "PIL")
# Builtins that import, execute text, or read and write files.
FORBIDDEN = ("__import__", "breakpoint", "compile", "eval", "exec", "input", "open")
# The functions of a generator, and how many arguments each gets.
FUNCTIONS = {"columns": 2, "score": 1, "item": 2, "transforms": 2}
# Fields of syntax trees that do not change what is computed.
IRRELEVANT = ("annotation", "ctx", "kind", "returns", "type_comment", "type_params")


def parse(source):
    try:
        return ast.parse(source, FILE)
    except SyntaxError as error:
        line = (error.text or "").strip()
        raise Refused("bad_syntax", f"line {error.lineno}: {error.msg}: `{line}`") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise Refused("bad_syntax", f"the file cannot be parsed: {error}") from None


def check_imports(module):
    for node in ast.walk(module):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = ["." * node.level + (node.module or "")]
        elif isinstance(node, ast.Name) and node.id in FORBIDDEN:
            raise Refused(
                "bad_import",
                f"line {node.lineno}: `{node.id}` may not be used; a generator computes everything "
                "from the arguments of its functions",
            )
        for name in names:
            if name.split(".")[0] not in ALLOWED:
                allowed = ", ".join(ALLOWED)
                raise Refused(
                    "bad_import", f"line {node.lineno}: `{name}` is not one of the allowed modules: {allowed}"
                )


def is_main_guard(node):
    return isinstance(node, ast.If) and ast.unparse(node.test) in (
        "__name__ == '__main__'",
        "'__main__' == __name__",
    )


def check_form(module, has_items):
    kinds = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)
    for node in module.body:
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not (isinstance(node, kinds) or is_text or is_main_guard(node)):
            raise Refused(
                "bad_form",
                f"line {node.lineno}: a generator does nothing at import; at the top level, only imports, "
                "functions, classes and constants may stand",
            )
    version = [
        node.value
        for node in module.body
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["VERSION"]
    ]
    if len(version) != 1 or not isinstance(version[0], ast.Constant) or version[0].value != 1:
        raise Refused("bad_form", "the file must have the line `VERSION = 1`")
    functions = {node.name: node.args for node in module.body if isinstance(node, ast.FunctionDef)}
    for name, count in FUNCTIONS.items():
        if name == "item" and not has_items:
            continue
        arguments = functions.get(name)
        if arguments is None:
            raise Refused("bad_form", f"the function `{name}` is missing")
        most = len(arguments.posonlyargs) + len(arguments.args)
        least = most - len(arguments.defaults)
        free = all(default is not None for default in arguments.kw_defaults)
        if not (least <= count and (count <= most or arguments.vararg) and free):
            raise Refused("bad_form", f"the function `{name}` is called with {count} arguments")


def definitions(module):
    """What names at the top level stand for: syntax trees, and the paths of imported things."""
    defined, imported = {}, {}
    for node in module.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            defined[node.name] = node
        elif isinstance(node, ast.Assign):
            for name in (name for target in node.targets for name in ast.walk(target)):
                if isinstance(name, ast.Name):
                    defined[name.id] = node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            defined[node.target.id] = node.value
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            for alias in node.names:
                path = alias.name if alias.asname else alias.name.split(".")[0]
                imported[alias.asname or path] = path
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                imported[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return defined, imported


class Canonical:
    """The syntax tree of `score`, and of all that it refers to at the top level, as text: names
    and texts numbered as they appear, numbers rounded to three digits, no docstrings."""

    def __init__(self, module):
        self.defined, self.imported = definitions(module)
        self.numbers = {}
        # Names that the functions around a node bind, the innermost last, and how many functions
        # there have been: the same name in two of them is two names.
        self.scopes = []
        self.functions = 0
        # Names at the top level, in the order of their first use.
        self.pending = ["score"]
        parts = []
        for name in self.pending:
            parts.append(f"{self.name(name)}={self.node(self.defined[name])}")
        self.text = "\n".join(parts)

    def number(self, kind, text):
        return f"{kind}{self.numbers.setdefault((kind, text), len(self.numbers))}"

    def name(self, name):
        for function, bound in reversed(self.scopes):
            if name in bound:
                return self.number("n", (function, name))
        if name in self.imported:
            return self.imported[name]
        if name in self.defined:
            if name not in self.pending:
                self.pending.append(name)
        elif hasattr(builtins, name):
            return name
        return self.number("n", name)

    def constant(self, value):
        if isinstance(value, (str, bytes)):
            return self.number("t", value)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return format(value, ".3g")
        return repr(value)

    def node(self, node):
        if isinstance(node, list):
            return "[" + ",".join(self.node(part) for part in node) + "]"
        if isinstance(node, ast.Constant):
            return self.constant(node.value)
        if isinstance(node, ast.Name):
            return self.name(node.id)
        if isinstance(node, ast.arg):
            return self.name(node.arg)
        if not isinstance(node, ast.AST):
            return str(node)
        fields = dict(ast.iter_fields(node))
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            fields["name"] = self.name(node.name)
            fields["body"] = without_docstring(node.body)
        is_function = isinstance(node, (ast.FunctionDef, ast.Lambda))
        if is_function:
            self.functions += 1
            self.scopes.append((self.functions, bound_names(node)))
        parts = [f"{key}={self.node(value)}" for key, value in fields.items() if key not in IRRELEVANT]
        if is_function:
            self.scopes.pop()
        return f"{type(node).__name__}({','.join(parts)})"


def bound_names(function):
    """Arguments of a function, and names that it assigns."""
    nodes = list(ast.walk(function))
    names = {node.arg for node in nodes if isinstance(node, ast.arg)}
    names |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    inner = [node for node in nodes if isinstance(node, ast.FunctionDef) and node is not function]
    return names | {node.name for node in inner}


def without_docstring(body):
    first = body[0]
    is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return body[1:] if is_text and isinstance(first.value.value, str) else body


def clauses(module, names):
    """The expressions of `score` and of what it refers to, one text each, as a page must not
    print them."""
    defined, _ = definitions(module)
    found = []
    for name in names:
        node = defined[name]
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.append(ast.unparse(node))
            continue
        for part in ast.walk(node):
            if isinstance(part, (ast.Assign, ast.AugAssign, ast.Return)) and part.value is not None:
                found.append(ast.unparse(part.value))
    return found


def inspect(source, request):
    """Writes what is known of a generator without executing it."""
    module = parse(source)
    check_imports(module)
    check_form(module, request["item"] is not None)
    try:
        rule = Canonical(module)
        texts = clauses(module, rule.pending)
    except RecursionError:
        raise Refused("bad_form", "`score` is nested too deeply") from None
    features = np._core._multiarray_umath.__cpu_features__
    inspection = {
        "rule": rule.text,
        "clauses": texts,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "processor": sorted(name for name, is_there in features.items() if is_there),
    }
    with open("inspection.json", "w") as file:
        json.dump(inspection, file)


take({"inspect": inspect})
