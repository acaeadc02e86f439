#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on an include that the table of src/README.md does not grant.

The table's rows are the layers, and the outer areas (tools, bench, apps, examples) that build on them. What holds:
  - a file includes its own layer, the layers of its row, public headers and the system;
  - of another layer only headers at the top of its folder; runtime alone may reach below transport, os and launch;
  - a folder of api includes no other folder of api;
  - an area whose row grants another area (bench: apps) sees that one's headers, written from its top;
  - apps, examples and public headers see public headers (include/) only;
  - a public header that a layer implements (its stem.cpp includes it first) is open to those who may include that layer;
  - grapnel_layer(... USES ...) in a layer's CMakeLists.txt names only granted layers.

Prints file:line: include: rule, and exits 1 if anything was found.
"""

import argparse
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from cpp_text import CPP_SUFFIXES, blank_comments, project_files  # noqa: E402

# Where the rows that are no folder of src/ live.
AREAS = {"tools": "tools/grapnel", "bench": "bench", "apps": "apps", "examples": "examples"}
PUBLIC_ONLY = {"apps", "examples"}
# runtime chooses among the implementations of these, so it sees the folders below them.
CHOSEN_BY_RUNTIME = {"transport", "os", "launch"}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.MULTILINE)


class TableError(Exception):
    pass


def read_table(readme_text):
    """{layer: set of layers it may include}. Raises TableError for a table that contradicts itself."""
    rows = {}
    for line in readme_text.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) != 5 or cells[1] in ("layer", "") or set(cells[1]) <= {"-"}:
            continue
        name, granted = cells[1], cells[3].split()
        for other in granted:
            if other not in rows:
                raise TableError(f"{name} may include {other}, which is no row above it")
        if name in rows:
            raise TableError(f"{name} has two rows")
        rows[name] = set(granted)
    if not rows:
        raise TableError("no rows found")
    return rows


class Checker:
    def __init__(self, root, files, table):
        self.root = root
        self.files = files
        self.table = table
        self.layers = {name for name in table if name not in AREAS}
        self.found = []
        self.owner_of_public = self._owners_of_public_headers()

    def run(self):
        for path in self.files:
            if path.suffix in CPP_SUFFIXES:
                self._check_source(path)
            elif path.name == "CMakeLists.txt" and len(path.parts) == 3 and path.parts[0] == "src":
                self._check_cmake(path)
        return self.found

    def _report(self, path, line, what, rule):
        self.found.append(f"{path}:{line}: {what}: {rule}")

    def _text(self, path):
        return (self.root / path).read_text(encoding="utf-8", errors="replace")

    def _owners_of_public_headers(self):
        owners = {}
        for path in self.files:
            if path.suffix != ".cpp" or path.parts[0] != "src" or len(path.parts) < 3:
                continue
            first = INCLUDE.search(blank_comments(self._text(path)))
            if first and Path(first[2]).stem == path.stem and (self.root / "include" / first[2]).is_file():
                owners.setdefault(first[2], set()).add(path.parts[1])
        return owners

    def _area_of(self, path):
        """(row name, folder of the row), ("public", include/) or None for a file that no rule covers."""
        if path.parts[0] == "include":
            return "public", Path("include")
        if path.parts[0] == "src" and len(path.parts) > 2:
            return path.parts[1], Path("src") / path.parts[1]
        for name, folder in AREAS.items():
            if path.is_relative_to(folder):
                return name, Path(folder)
        return None

    def _check_source(self, path):
        area = self._area_of(path)
        if area is None:
            return
        name, folder = area
        if name != "public" and name not in self.table:
            self._report(path, 1, folder, "has no row in src/README.md")
            return
        text = blank_comments(self._text(path))
        for match in INCLUDE.finditer(text):
            rule = self._broken_rule(path, name, folder, match[1], match[2]) or self._broken_front_end_rule(path, match[2])
            if rule:
                self._report(path, text.count("\n", 0, match.start()) + 1, match[2], rule)

    def _broken_rule(self, path, name, folder, quote, include):
        if (self.root / "include" / include).is_file():
            return self._broken_public_rule(name, include)
        target = Path(include)
        if target.parts[0] in self.layers and (len(target.parts) > 1):
            return self._broken_layer_rule(name, target)
        if quote == "<":
            return None
        if ".." in target.parts:
            return "write it from the top, layer/header, not relative"
        places = [path.parent, folder, folder.parent, Path(".")]
        for place in places:
            for suffix in ("", ".in"):
                found = place / (include + suffix)
                if (self.root / found).is_file() and found.is_relative_to(folder):
                    return None
        for other in self.table.get(name, set()) & set(AREAS):
            if (self.root / AREAS[other] / include).is_file():
                return None
        return "no header of this layer or of the public ones (system headers stand in <>)"

    def _broken_public_rule(self, name, include):
        owners = self.owner_of_public.get(include)
        if not owners or name == "public" or name in PUBLIC_ONLY or name in owners:
            return None
        if owners & self.table[name]:
            return None
        return f"implemented by {', '.join(sorted(owners))}, which {name} may not include"

    def _broken_front_end_rule(self, path, include):
        mine, theirs = path.parts[:3], Path(include).parts
        if mine[:2] != ("src", "api") or theirs[:1] != ("api",) or theirs[1] == mine[2]:
            return None
        return "a front end never includes another front end"

    def _broken_layer_rule(self, name, target):
        other = target.parts[0]
        if name == other:
            return None
        if name == "public":
            return "public headers include public headers and the system only"
        if name in PUBLIC_ONLY:
            return f"{name} include public headers only"
        if other not in self.table[name]:
            return f"{name} may not include {other}"
        if len(target.parts) > 2 and not (name == "runtime" and other in CHOSEN_BY_RUNTIME):
            return f"{'/'.join(target.parts[:-1])} is private to {other}; only headers at the top of a layer are its interface"
        return None

    def _check_cmake(self, path):
        layer = path.parts[1]
        text = re.sub(r"#[^\n]*", "", self._text(path))
        for call in re.finditer(r"grapnel_layer\(([^)]*)\)", text):
            uses = re.search(r"\bUSES\b((?:\s+[a-z_]+)*)", call[1])
            for other in uses[1].split() if uses else []:
                if other not in self.table.get(layer, set()):
                    line = text.count("\n", 0, call.start()) + 1
                    self._report(path, line, f"USES {other}", f"{layer} may not include {other}")


def check(root, files=None):
    root = Path(root)
    table = read_table((root / "src/README.md").read_text(encoding="utf-8"))
    return Checker(root, project_files(root) if files is None else files, table).run()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    arguments = parser.parse_args()
    try:
        found = check(arguments.root)
    except TableError as error:
        found = [f"src/README.md: {error}"]
    print("\n".join(found) if found else "layers: every include is granted")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
