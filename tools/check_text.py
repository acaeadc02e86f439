#!/usr/bin/env python3
"""Fails on words that must not be in the project's files.

  - a mark of unfinished work that names no issue (the issue stands behind it, as in (#12));
  - code that was commented out instead of removed (C and C++; only what certainly looks like code);
  - paths of the machine that the work is done on, and host names of package registries;
  - comments of C and C++ longer than a line (clang-format leaves comments as they are, or it would tear tables);
  - a source file without the line that names its license.
"""

import argparse
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from cpp_text import CPP_SUFFIXES, project_files  # noqa: E402

# Put together from parts, so that this file does not hold what it looks for.
_OPEN_WORDS = re.compile(r"\b(?:" + "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X"]) + r")\b(?!\s*\(?(?:issue )?#\d+)")
_COLUMNS = 120
_LICENSE = "SPDX-License-Identifier: Apache-2.0"
_SOURCE_SUFFIXES = CPP_SUFFIXES | {".inc", ".py", ".sh", ".cmake", ".f90"}
_COMMENT = re.compile(r"^\s*(?://|/?\*)")
_WORK_PATH = re.compile(r"(?<![\w.])/" + r"work/")
_REGISTRY_WORDS = "debian|pypi|pythonhosted|npmjs|maven|crates|golang"
_REGISTRY_URL = re.compile(rf"\w+://[^/\s]*(?:{_REGISTRY_WORDS})[^/\s]*[.][^/\s]+")

_STATEMENT = (
    r"return\b[^.]*;|[\w:]+(?:(?:\.|->)\w+)*\([^()]*(?:\([^()]*\)[^()]*)*\);"
    r"|(?:const |auto |static |std::)[\w:<>*& ]+ ?[=({].*;|[\w.\->]+ (?:\+|-|\|)?= [^ ].*;"
    r"|(?:if|for|while|switch) \(.*\)(?: \{|.*;)|\} ?(?:else.*\{)?|#\s*(?:include\b.*|define \w+.*|if(?:n?def)? .*|endif)"
)
_OLD_CODE = re.compile(rf"^\s*// ?(?:{_STATEMENT})\s*$|^\s*#\s*if\s+0\s*$")


def machine_registry_hosts():
    """Hosts that apt of this machine installs from, whatever they are called."""
    hosts = set()
    for source in [Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*")]:
        try:
            text = source.read_text(errors="replace")
        except OSError:
            continue
        hosts.update(re.findall(r"\w+://(?:[^/@\s]*@)?([\w-]+(?:\.[\w-]+)+)", text))
    return hosts


def problems_of_line(line, is_cpp, hosts):
    if _OPEN_WORDS.search(line):
        yield "an open end without the number of its issue"
    if is_cpp and _OLD_CODE.match(line):
        yield "commented-out code: git remembers it"
    if is_cpp and len(line) > _COLUMNS and _COMMENT.match(line):
        yield f"a comment longer than {_COLUMNS} columns"
    if _WORK_PATH.search(line):
        yield "a path of the machine that this was written on"
    if _REGISTRY_URL.search(line) or any(host in line for host in hosts):
        yield "the host name of a package registry: name the package instead"


def check(root, files=None, hosts=None):
    root = Path(root)
    hosts = machine_registry_hosts() if hosts is None else hosts
    found = []
    for path in project_files(root) if files is None else files:
        data = (root / path).read_bytes()
        if b"\0" in data[:8192] or path.name == "LICENSE":
            continue
        for number, line in enumerate(data.decode(errors="replace").splitlines(), 1):
            for problem in problems_of_line(line, path.suffix in CPP_SUFFIXES, hosts):
                found.append(f"{path}:{number}: {problem}: {line.strip()[:100]}")
    return found


def without_license(root, files=None):
    """The source files whose comments do not name the license."""
    found = []
    for path in project_files(root) if files is None else files:
        if path.suffix not in _SOURCE_SUFFIXES and path.name not in ("CMakeLists.txt", "dev"):
            continue
        if _LICENSE not in (Path(root) / path).read_text(errors="replace"):
            found.append(f"{path}:1: names no license: add a comment, {_LICENSE}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    root = parser.parse_args().root
    found = check(root) + without_license(root)
    print("\n".join(found) if found else "text: nothing that must not be there")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
