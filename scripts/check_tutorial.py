#!/usr/bin/env python3
"""Runs the commands of docs/TUTORIAL.md and compares what they print.

    scripts/check_tutorial.py BIN

BIN is the folder of the built programs `factory` and `sandbox`, such as `target/debug`. The
commands of every block marked `console` run in a temporary folder that has the repository's seeds,
examples and Python environment. Numbers with decimals, sizes and tiers may differ from the page;
words and counts may not. Blocks after `<!-- depends on the host -->` run and are not compared.
Prints the differences and exits with code 1 if there are any. Standard library only.
"""

import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "TUTORIAL.md"
BLOCK = re.compile(r"(<!-- depends on the host -->\n)?```console\n(.*?)```", re.DOTALL)
# What may differ: decimals, sizes, tiers and the padding of columns.
VARIES = [
    (re.compile(r"\d+\.\d+"), "#"),
    (re.compile(r"\d+ (MiB|bytes)"), r"# \1"),
    (re.compile(r"\btier t\d"), "tier"),
    (re.compile(r"  +"), " "),
]


def steps(block):
    """Pairs of command and expected output; a command ends where its last line has no backslash."""
    found = []
    continued = False
    for line in block.splitlines():
        if continued or line.startswith("$ "):
            if continued:
                found[-1][0] += "\n" + line
            else:
                found.append([line[2:], []])
            continued = line.endswith("\\")
        else:
            found[-1][1].append(line)
    return found


def settled(lines):
    """The lines without what may differ."""
    for pattern, replacement in VARIES:
        lines = [pattern.sub(replacement, line) for line in lines]
    return [line.rstrip() for line in lines]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    programs = pathlib.Path(sys.argv[1]).resolve()
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    count = differing = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in ("seeds", "examples", ".venv"):
            os.symlink(ROOT / name, pathlib.Path(folder) / name)
        for host, block in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
            for command, expected in steps(block):
                count += 1
                run = subprocess.run(
                    ["bash", "-c", command],
                    cwd=folder,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    check=False,
                )
                found = run.stdout.decode(errors="replace").splitlines()
                if host or settled(found) == settled(expected):
                    continue
                differing += 1
                print(f"$ {command}")
                lines = difflib.unified_diff(expected, found, "the page", "the program", lineterm="", n=1)
                print("\n".join(lines))
    print(f"tutorial: {count} commands, {differing} differ")
    sys.exit(1 if differing else 0)


main()
