#!/usr/bin/env python3
"""Checks the warmed interpreter's program for undefined names.

The program is several files that are joined into one text (see `zygote.py`), so no single file can
be checked. This joins them in the same order and asks ruff for rule F821, undefined names. Needs
`ruff` on the PATH.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def main():
    listing = ["git", "ls-files", "-z", "*/python/zygote.py"]
    output = subprocess.run(listing, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    (zygote,) = [ROOT / path for path in output.split("\0") if path]
    # The Rust file that joins the fragments is the only place that knows their order.
    sources = [path for path in zygote.parents[1].glob("src/**/*.rs") if "zygote.py" in path.read_text()]
    joined = [re.findall(r"include_str!\(\"[./]*python/(\w+\.py)\"\)", path.read_text()) for path in sources]
    names = next(names[: names.index("zygote.py") + 1] for names in joined if "zygote.py" in names)
    program = "\n".join((zygote.parent / name).read_text() for name in names)
    check = ["ruff", "check", "--isolated", "--quiet", "--select", "F821", "--output-format", "concise", "-"]
    code = subprocess.run(check, input=program.encode(), check=False).returncode
    print(f"fragments: {', '.join(names)} joined: {'undefined names' if code else 'every name is defined'}")
    sys.exit(code)


main()
