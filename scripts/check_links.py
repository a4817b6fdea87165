#!/usr/bin/env python3
"""Checks links and paths in the Markdown files that git tracks.

A relative link must name a file or folder that git tracks. A fragment (`#section`) must name a
heading of the page it points to, by the rule GitHub uses for anchors. Links to other hosts are not
followed. With `--paths`, a path in backticks must exist if it begins with a folder of the
repository's top, as in `docs/METRICS.md`; names in capitals and `*` stand for anything. Prints each
problem as `file:line: reason` and exits with code 1 if there is one. Standard library only.
"""

import pathlib
import re
import subprocess
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
# `[text](target)`, `![image](target "title")`, `[name]: target`, `href="target"`, `src="target"`.
LINKS = [
    re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)"),
    re.compile(r"^\s{0,3}\[[^\]]+\]:\s+<?(\S+?)>?\s*$"),
    re.compile(r"\b(?:href|src)=\"([^\"]+)\""),
]
SCHEME = re.compile(r"^(?:[a-z][a-z0-9+.-]*:|//)", re.IGNORECASE)
FENCE = re.compile(r"^\s*(```+|~~~+)")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")
CODE = re.compile(r"(`+)(.+?)\1")
PATH = re.compile(r"(?<!`)`([\w.-]+(?:/[\w.*-]+)+/?)`(?!`)")
PLACEHOLDER = re.compile(r"\*|(?<![A-Za-z])[A-Z]{2,}(?![A-Z]*\.md)")
# Made by commands, so git does not know what lies there.
MADE = {"generated", "target"}


def tracked():
    """The paths that git tracks or would add, relative to the root."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    output = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    paths = [pathlib.PurePosixPath(path) for path in output.decode().split("\0") if path]
    return [path for path in paths if (ROOT / path).exists()]


def prose(text):
    """Pairs of line number and line, without blocks of code."""
    fence = None
    for number, line in enumerate(text.splitlines(), start=1):
        mark = FENCE.match(line)
        if fence is None and mark:
            fence = mark.group(1)
        elif fence is not None:
            if mark and mark.group(1).startswith(fence):
                fence = None
        else:
            yield number, line


def anchor(heading):
    """The anchor that GitHub gives to a heading."""
    heading = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    heading = re.sub(r"[`*]", "", heading)
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def anchors(text):
    """All anchors of a page. A second heading of the same text ends in `-1`, a third in `-2`."""
    found, seen = set(), {}
    for _, line in prose(text):
        heading = HEADING.match(line)
        if heading:
            name = anchor(heading.group(1))
            count = seen.get(name, 0)
            seen[name] = count + 1
            found.add(f"{name}-{count}" if count else name)
        found.update(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", line))
    return found


def targets(text):
    """Pairs of line number and link target."""
    for number, line in prose(text):
        line = CODE.sub("", line)
        for pattern in LINKS:
            for target in pattern.findall(line):
                yield number, target


def problem(page, target, known, pages):
    """Why a link on a page is broken, or None."""
    if SCHEME.match(target):
        return None
    path, _, fragment = target.partition("#")
    path = urllib.parse.unquote(path)
    if path.startswith("/"):
        return f"`{target}` is an absolute path"
    place = (ROOT / page.parent / path).resolve() if path else ROOT / page
    if not place.is_relative_to(ROOT):
        return f"`{target}` lies outside of the repository"
    place = pathlib.PurePosixPath(place.relative_to(ROOT).as_posix())
    if place not in known:
        return f"`{target}` does not exist, or git ignores it"
    if fragment and place in pages and fragment not in anchors(pages[place]):
        return f"`{target}`: {place} has no heading with that anchor"
    return None


def missing(text, known):
    """Pairs of line number and path in backticks, for paths that should exist and do not."""
    tops = {path.parts[0] for path in known if len(path.parts) > 1} - MADE
    for number, line in prose(text):
        for path in PATH.findall(line):
            first = path.split("/")[0]
            if first in tops and not PLACEHOLDER.search(path) and pathlib.PurePosixPath(path) not in known:
                yield number, path


def main():
    files = tracked()
    known = {parent for path in files for parent in (path, *path.parents)}
    pages = {path: (ROOT / path).read_text(encoding="utf-8") for path in files if path.suffix == ".md"}
    count, broken = 0, []
    for page, text in sorted(pages.items()):
        for number, target in targets(text):
            count += 1
            reason = problem(page, target, known, pages)
            if reason:
                broken.append(f"{page}:{number}: {reason}")
        if "--paths" in sys.argv[1:]:
            broken += [f"{page}:{number}: `{path}` does not exist" for number, path in missing(text, known)]
    print("\n".join([*broken, f"links: {count} in {len(pages)} pages, {len(broken)} problems"]))
    sys.exit(1 if broken else 0)


main()
