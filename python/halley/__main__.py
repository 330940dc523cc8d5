"""``python -m halley`` is the program."""

import os
import pathlib
import shutil
import sys


def main() -> int:
    """Become the program that belongs to this package, else the installed one."""
    here = pathlib.Path(__file__).resolve().parent
    for path in (here / "bin" / "halley", here.parents[1] / "build" / "halley"):
        if path.exists():
            os.execv(str(path), ["halley", *sys.argv[1:]])
    found = shutil.which("halley")
    if found is not None:
        os.execv(found, ["halley", *sys.argv[1:]])
    print("halley: the program was not found; build it with 'make' or install the wheel",
          file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
