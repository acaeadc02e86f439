#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails where two Python files that are imported by the same bare name could be taken for each other.

Tests, tools and benchmarks import modules of other folders by name alone (sys.path), so that of two files of one name the
order of the folders would decide. A name that is imported anywhere therefore belongs to one file.
"""

import argparse
import ast
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from cpp_text import project_files  # noqa: E402


def is_python(root, path):
    if path.suffix == ".py":
        return True
    if path.suffix:
        return False
    with open(root / path, "rb") as file:
        first = file.readline(80)
    return first.startswith(b"#!") and b"python" in first


def imported_names(text):
    """The first part of each module that `text` imports by an absolute name."""
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(node.module.split(".")[0])
    return names


def check(root, files=None):
    """A printable line for each imported name that several files have."""
    root = Path(root)
    scripts = [path for path in (project_files(root) if files is None else files) if is_python(root, path)]
    places, imported = {}, set()
    for path in scripts:
        places.setdefault(path.stem, []).append(str(path))
        imported |= imported_names((root / path).read_text(encoding="utf-8"))
    return [f"module {name} is imported, and {len(paths)} files have its name: {', '.join(sorted(paths))}; rename all but one"
            for name, paths in sorted(places.items()) if name in imported and len(paths) > 1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    faults = check(parser.parse_args().root)
    print("\n".join(faults) or "modules: each imported name belongs to one file")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
