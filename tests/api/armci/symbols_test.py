#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""libarmci.so shows exactly what the headers declare, ARMCI_ names weak, and needs nothing that is not named in it."""

import argparse
import subprocess
import sys


def shown(library):
    lines = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    return {words[-1]: words[-2] for words in (line.split() for line in lines.splitlines())}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--symbols", required=True, help="tools/armci_symbols.py")
    parser.add_argument("library")
    parser.add_argument("header", nargs="+")
    arguments = parser.parse_args()
    listed = subprocess.run(
        [sys.executable, arguments.symbols] + arguments.header, check=True, capture_output=True, text=True
    ).stdout.split()
    found = shown(arguments.library)
    wrong = [f"{name} is declared and not shown" for name in listed if name not in found]
    wrong += [f"{name} is shown and not declared" for name in found if name not in listed]
    for name in listed:
        wanted = "T" if name.lower().startswith("parmci_") else "W"
        if name in found and found[name] != wanted:
            wrong.append(f"{name} is {found[name]}, not {wanted}")
    print("\n".join(wrong) or f"{len(listed)} symbols, as declared")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
