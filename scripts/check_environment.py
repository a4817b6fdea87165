#!/usr/bin/env python3
"""Checks that docs/ENVIRONMENT.md lists the environment variables that the code reads.

Searches Rust, Python and shell files and the Makefile for reads of environment variables. Each
variable needs a row in a table of the page, and each row needs a read in the code. Rows below the
heading "Read by libraries" are exempt from the second rule, because libraries are not searched.
Programs that run inside the jail are left out: their environment is fixed.
Prints each difference and exits with code 1 if there is one; `--list` prints what is read, and
where. Standard library only.
"""

import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = "docs/ENVIRONMENT.md"
EXEMPT = "read by libraries"
# Text that runs inside the jail.
INSIDE = re.compile(r"/hostile/|/python/[a-z]+\.py$|^crates/posttrain/agents/")

ROW = re.compile(r"^\| `([A-Z][A-Z0-9_]*)`")
RUST_READ = re.compile(r"\benv::var(?:_os)?\(\s*&?(?:\"([A-Z0-9_]+)\"|([\w:]+))")
RUST_CONSTANT = re.compile(r"\bconst ([A-Z0-9_]+): &str =\s*\"([A-Z][A-Z0-9_]*)\"")
RUST_FLAG = re.compile(r"\benv = \"([A-Z0-9_]+)\"")
RUST_LOG = re.compile(r"\bEnvFilter::(?:try_)?from_default_env\b")
RUST_HELPER = re.compile(r"\b(?:fn (\w+)|let (\w+) = \|)")
PYTHON_READ = re.compile(r"\b(?:environ(?:\.get\(|\[)|getenv\()\s*[\"']([A-Z0-9_]+)[\"']")
SHELL_READ = re.compile(r"\$\{?([A-Z][A-Z0-9_]*)")
SHELL_WRITE = re.compile(r"(?:^|[\s;(])(?:export |local |readonly )?([A-Z][A-Z0-9_]*)\+?=")
# Bash sets SECONDS, and every program looks at PATH.
UNLISTED = {"PATH", "SECONDS"}
MAKE_SETTING = re.compile(r"^(?:export )?([A-Z][A-Z0-9_]*) \?=", re.MULTILINE)


def tracked():
    """The paths of the files that git tracks, relative to the root."""
    output = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    return [path for path in output.decode().split("\0") if path and (ROOT / path).is_file()]


def line_of(text, place):
    return text.count("\n", 0, place) + 1


def rust_reads(text, constants, build_script):
    """Pairs of line and variable. A name that cannot be resolved is given as `?name`.

    A constant is looked up in the same file, else in all files.
    """
    own = dict(RUST_CONSTANT.findall(text))
    for match in RUST_READ.finditer(text):
        line, (literal, name) = line_of(text, match.start()), match.groups()
        if literal:
            # Cargo sets these for build scripts.
            if not (build_script and literal.startswith(("CARGO_", "DEP_", "OUT_DIR"))):
                yield line, literal
            continue
        name = name.rsplit("::", 1)[-1]
        if name in own:
            yield line, own[name]
        elif constants[name]:
            yield from ((line, value) for value in sorted(constants[name]))
        else:
            # The name is an argument of a helper: every call of it in this file is a read.
            helpers = [a or b for a, b in RUST_HELPER.findall(text[: match.start()])]
            calls = re.findall(rf"\b{helpers[-1]}\(\"([A-Z0-9_]+)\"\)", text) if helpers else []
            yield from ((line, call) for call in calls or [f"?{name}"])
    for match in RUST_FLAG.finditer(text):
        yield line_of(text, match.start()), match.group(1)
    for match in RUST_LOG.finditer(text):
        yield line_of(text, match.start()), "RUST_LOG"


def shell_reads(text):
    """Pairs of line and variable, for variables that the script does not set before."""
    written = set()
    quoted = None
    for number, line in enumerate(text.splitlines(), start=1):
        # A here-document whose mark is quoted is plain text.
        if quoted:
            quoted = quoted if line != quoted else None
            continue
        code = "" if line.startswith("#") else line.partition(" #")[0]
        for name in SHELL_READ.findall(code):
            if name not in written:
                yield number, name
        written.update(SHELL_WRITE.findall(code))
        mark = re.search(r"<<'(\w+)'", code)
        quoted = mark.group(1) if mark else None


def reads():
    """Each variable with the places that read it."""
    files = {}
    for path in tracked():
        kind = pathlib.PurePosixPath(path).suffix
        if kind in (".rs", ".py", ".sh") or path in ("Makefile", ".ci/run"):
            files[path] = (ROOT / path).read_text(encoding="utf-8", errors="replace")
    constants = collections.defaultdict(set)
    for path, text in files.items():
        if path.endswith(".rs"):
            for name, value in RUST_CONSTANT.findall(text):
                constants[name].add(value)
    found = collections.defaultdict(list)
    for path, text in sorted(files.items()):
        if INSIDE.search(path):
            continue
        if path.endswith(".rs"):
            pairs = rust_reads(text, constants, path.endswith("build.rs"))
        elif path.endswith(".py"):
            pairs = ((line_of(text, m.start()), m.group(1)) for m in PYTHON_READ.finditer(text))
        elif path == "Makefile":
            pairs = ((line_of(text, m.start()), m.group(1)) for m in MAKE_SETTING.finditer(text))
        else:
            pairs = shell_reads(text)
        for line, name in pairs:
            if name not in UNLISTED:
                found[name].append(f"{path}:{line}")
    return found


def rows():
    """The variables of the page: those that the code reads, and those that libraries read."""
    ours, theirs, exempt = set(), set(), False
    for line in (ROOT / PAGE).read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            exempt = line.lstrip("# ").lower() == EXEMPT
        row = ROW.match(line)
        if row:
            (theirs if exempt else ours).add(row.group(1))
    return ours, theirs


def main():
    found = reads()
    if "--list" in sys.argv[1:]:
        for name, places in sorted(found.items()):
            print(name, *places)
        return
    ours, theirs = rows()
    problems = []
    for name, places in sorted(found.items()):
        if name.startswith("?"):
            problems.append(f"{places[0]}: cannot tell which variable `{name[1:]}` names")
        elif name not in ours | theirs:
            problems.append(f"{places[0]}: `{name}` is read here and has no row in {PAGE}")
    problems += [f"{PAGE}: `{name}` has a row and is read nowhere" for name in sorted(ours - set(found))]
    print("\n".join([*problems, f"environment variables: {len(found)}, {len(problems)} problems"]))
    sys.exit(1 if problems else 0)


main()
