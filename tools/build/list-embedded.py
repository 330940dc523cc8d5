#!/usr/bin/env python3
"""Print the files that tools/build/embed.py compiles in: list-embedded.py ROOT."""
import pathlib
import sys

root = pathlib.Path(sys.argv[1])
for pattern in ("presets/*/*.yaml", "presets/recipes/*.json", "data/*.json", "data/*.yaml", "data/runs/*.json",
                "studies/*.yaml", "cases/papers.yaml"):
    for path in sorted(root.glob(pattern)):
        print(path)
