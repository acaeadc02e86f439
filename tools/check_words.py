#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts words that make a reader translate (docs/glossary.md), and fails on the worst of them in lines that were added.

usage: check_words.py [--root FOLDER] [--list]

  - lines added since the merge base (git_changes.py), in comments and documents: none of WORST;
  - the whole tree: of 1,000 words no more than LIMITS are of HABIT. The limits only ever go down.
--list prints the files with most of them.
"""

import argparse
import re
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from cpp_text import CPP_SUFFIXES, project_files  # noqa: E402
from git_changes import added_lines  # noqa: E402

HABIT = frozenset("who whoever nobody somebody everybody alike tells told says hears speaks stands goes comes "
                  "meanwhile".split())
WORST = {
    "whoever": "name the process: the origin, the waiter, the home",
    "nobody": "\"no rank\", \"no process\", or \"it is not …\"",
    "somebody": "name it: a rank, a holder, a peer",
    "everybody": "\"every rank\", \"all members\"",
    "hears": "\"receives\"",
    "speaks": "\"sends\", \"uses\"",
    "meanwhile": "say when: \"until the reply arrives\"",
}
LIMITS = {"comments": 2.2, "documents": 2.0}  # per 1,000 words
FOLDERS = ("src", "include", "tools", "bench", "tests", "docs")
_WORD = re.compile(r"[A-Za-z]+(?:'[a-z]+)?")
_CPP_COMMENT = re.compile(r"//(.*)$|^\s*\*(.*)$")
_HASH_COMMENT = re.compile(r"(?:^|\s)#(?!!)(.*)$")


def kind_of(path):
    """\"documents\", \"comments\", or None for what is not looked at."""
    if path.suffix == ".md":
        return "documents"
    if path.parts[0] not in FOLDERS:
        return None
    return "comments" if path.suffix in CPP_SUFFIXES | {".py", ".sh", ".txt", ".cmake"} else None


def prose_of(path, line):
    """What of this line is prose: a document's text without code, or a comment."""
    if path.suffix == ".md":
        return re.sub(r"`[^`]*`", " ", line)
    found = (_CPP_COMMENT if path.suffix in CPP_SUFFIXES else _HASH_COMMENT).search(line)
    return re.sub(r"`[^`]*`", " ", next((text for text in found.groups() if text), "")) if found else ""


def words_of(path, line):
    return [word.lower() for word in _WORD.findall(prose_of(path, line))]


def bad_additions(lines):
    """`lines`: (path, number, text). One sentence for each of WORST."""
    for name, number, line in lines:
        path = Path(name)
        if kind_of(path) and path.name not in ("glossary.md", "check_words.py"):
            for word in words_of(path, line):
                if word in WORST:
                    yield f"{name}:{number}: \"{word}\" in a new line: {WORST[word]}"


def count(root):
    """By kind: the words, those of HABIT, and those by file."""
    words, habit, by_file = Counter(), Counter(), Counter()
    for path in project_files(root):
        kind = kind_of(path)
        if not kind or path.name == "glossary.md":
            continue
        for line in (root / path).read_text(errors="replace").splitlines():
            found = words_of(path, line)
            words[kind] += len(found)
            bad = sum(word in HABIT for word in found)
            habit[kind] += bad
            by_file[path] += bad
    return words, habit, by_file


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    problems = list(bad_additions(added_lines(options.root)))
    words, habit, by_file = count(options.root)
    for kind, limit in LIMITS.items():
        share = 1000 * habit[kind] / max(words[kind], 1)
        print(f"words: {share:.1f} of 1,000 in {kind} are of the list (limit {limit})")
        if share > limit:
            problems.append(f"{kind}: {share:.1f} of 1,000 words are of the list, more than {limit}; --list shows where")
    if options.list:
        print("\n".join(f"{number:4} {path}" for path, number in by_file.most_common(40)))
    print("\n".join(problems) if problems else "words: no new ones")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
