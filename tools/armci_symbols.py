#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The calls that ARMCI's headers declare, as the names that libarmci shows.

The headers are the one table: ARMCI_CALL_(result, X, …) declares ARMCI_X and PARMCI_X, ARMCI_LOWER_CALL_(result, x, …)
armci_x and parmci_x. Prints one name per line, or a version script for the linker.
"""

import argparse
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from cpp_text import blank_comments  # noqa: E402

CALL = re.compile(r"^[ \t]*ARMCI_(LOWER_)?CALL_\(\s*[^,]+,\s*(\w+)\s*,", re.MULTILINE)


def names_in(text):
    names = []
    for lower, name in CALL.findall(blank_comments(text)):
        stem = f"armci_{name}" if lower else f"ARMCI_{name}"
        names += [stem, ("p" if lower else "P") + stem]
    return names


def version_script(names):
    lines = "".join(f"    {name};\n" for name in names)
    return f"{{\n  global:\n{lines}  local:\n    *;\n}};\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--version-script", action="store_true")
    parser.add_argument("header", type=Path, nargs="+")
    arguments = parser.parse_args()
    names = sorted(name for header in arguments.header for name in names_in(header.read_text(encoding="utf-8")))
    print(version_script(names) if arguments.version_script else "\n".join(names))


if __name__ == "__main__":
    main()
