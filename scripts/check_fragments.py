#!/usr/bin/env python3
"""Checks Python programs that are joined from several files for undefined names.

The warmed interpreter's program is several files that are joined into one text (see `zygote.py`), and
so are the programs that run generators of tasks, and the solvers that rate tasks; no single file of them
can be checked. This joins
them in the same order and asks ruff for rule F821, undefined names. Needs `ruff` on the PATH.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def zygote():
    """The names of the warmed interpreter's fragments, and their folder."""
    listing = ["git", "ls-files", "-z", "*/python/zygote.py"]
    output = subprocess.run(listing, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    (zygote,) = [ROOT / path for path in output.split("\0") if path]
    # The Rust file that joins the fragments is the only place that knows their order.
    sources = [path for path in zygote.parents[1].glob("src/**/*.rs") if "zygote.py" in path.read_text()]
    joined = [re.findall(r"include_str!\(\"[./]*python/(\w+\.py)\"\)", path.read_text()) for path in sources]
    names = next(names[: names.index("zygote.py") + 1] for names in joined if "zygote.py" in names)
    return names, zygote.parent


def generator_programs():
    """The names of the fragments of each program that runs generators, and their folder."""
    source = ROOT / "factory/src/generator/jailed.rs"
    programs = re.findall(r"concat!\((.*?)\);", source.read_text(), re.DOTALL)
    names = [re.findall(r"include_str!\(\"driver/(\w+\.py)\"\)", program) for program in programs]
    return [(program, source.parent / "driver") for program in names if program]


def solvers():
    """The names of the parts of each solver, and their folder."""
    source = ROOT / "crates/evals/src/rating/script.rs"
    files = dict(
        re.findall(r"const (\w+): &str = include_str!\(\"[./]*solvers/(\w+\.py)\"\)", source.read_text())
    )
    parts = re.findall(r"Solver::\w+ => (?:\{\s*)?&\[([A-Z, \n]+)\]", source.read_text())
    names = [[files[part.strip()] for part in listed.split(",") if part.strip()] for listed in parts]
    assert len(names) == 6, "the parts of the solvers were not found"
    return [(program, ROOT / "crates/evals/solvers") for program in names]


def main():
    programs = [zygote(), *generator_programs(), *solvers()]
    assert len(programs) > 1, "the programs of generators were not found"
    faulty = 0
    for names, folder in programs:
        program = "\n\n".join((folder / name).read_text() for name in names)
        check = [
            "ruff",
            "check",
            "--isolated",
            "--quiet",
            "--select",
            "F821",
            "--output-format",
            "concise",
            "-",
        ]
        # A solver's first lines are written by the program that runs it.
        program = "SEED, LIMIT = 0, 90\n" + program if folder.name == "solvers" else program
        code = subprocess.run(check, input=program.encode(), check=False).returncode
        faulty += code != 0
        print(
            f"fragments: {', '.join(names)} joined: {'undefined names' if code else 'every name is defined'}"
        )
    sys.exit(faulty > 0)


main()
