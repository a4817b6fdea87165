#!/usr/bin/env python3
"""What people of several kinds are worth to the base policy of the guidance study.

    scripts/person_study.py FOLDER      that of `scripts/person_study.sh`

Mean rewards on the same tasks, and differences to playing alone with 95 % intervals: 10,000 draws of tasks.
Standard library only.
"""

import pathlib
import sys

from guidance_study import all_of, differences, interval, is_bronze, means, share

PEOPLE = ["exact", "later-1", "later-2", "misses-half", "wrong-fifth", "wrong-half"]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    paths = {
        name: pathlib.Path(sys.argv[1]) / name / "episodes" / "base.jsonl" for name in ["alone", *PEOPLE]
    }
    alone = means(paths["alone"])
    exact = means(paths["exact"])
    for name, path in paths.items():
        them = all_of([path])
        found = means(path)
        mean = sum(found.values()) / len(found)
        pieces = sum(len(episode.get("guidance", [])) for episode in them) / len(them)
        line = f"{name:12} reward {mean:.3f}, bronze {share(them, is_bronze):.1%}, pieces {pieces:.2f}"
        if name != "alone":
            line += f"; minus alone {interval([differences(found, alone)])}"
            line += f"; minus exact {interval([differences(found, exact)])}"
        print(line)


if __name__ == "__main__":
    main()
