#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy on the C++ files that changed: against the branch that this one left, or against the last commit.

Changed are the files that differ from the merge base with origin/main, or from HEAD~ where HEAD is that branch itself,
and what is not committed yet. A changed header is looked at through a source file that includes
it; a file in which only comments changed is left out. GRAPNEL_TIDY_SECONDS
(default 420) bounds the time; files that were not reached are named, and fail the check, as whatever else keeps it from
looking. The checks are those of version 14: the findings of another version, where 14 is not there, are printed and fail
nothing.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from cpp_text import CPP_SUFFIXES, blank_comments, project_files  # noqa: E402
from git_changes import EMPTY_TREE, base_commit, git, lines_of_git  # noqa: E402

def changed_files(root):
    base = base_commit(root)
    names = lines_of_git(root, "diff", "--name-only", base)
    names += lines_of_git(root, "ls-files", "-o", "--exclude-standard")
    if base == EMPTY_TREE:
        names += [str(path) for path in project_files(root)]
    changed = {Path(name) for name in names}
    return sorted(path for path in changed
                  if path.suffix in CPP_SUFFIXES and (root / path).is_file() and code_differs(root, base, path))


def code_differs(root, base, path):
    """False where only comments changed, one that silences a finding excepted."""
    old = git(root, "show", f"{base}:{path}")
    new = (root / path).read_text(errors="replace")
    if old is None or old.count("NOLINT") != new.count("NOLINT"):
        return True
    return blank_comments(old).split() != blank_comments(new).split()


def includes(root, path, header):
    """True when `path` includes `header` by its name from the top, or by its bare name from beside it."""
    text = (root / path).read_text(errors="replace")
    from_top = ["/".join(header.parts[start:]) for start in (0, 1, 2)]  # src/rma/put.hpp is included as rma/put.hpp
    names = from_top + ([header.name] if path.parent == header.parent else [])
    return any(f'"{name}"' in text for name in names if name)


def source_for(root, header, sources):
    """A compiled file that includes the header, directly or through other headers; best the one of the same name."""
    headers = [path for path in project_files(root) if path.suffix in (".h", ".hpp")]
    waiting, seen = [header], {header}
    while waiting:
        wanted = waiting.pop(0)
        candidates = sorted(sources, key=lambda path: (path.stem != wanted.stem, path))
        found = next((path for path in candidates if includes(root, path, wanted)), None)
        if found:
            return found
        through = [path for path in headers if path not in seen and includes(root, path, wanted)]
        seen.update(through)
        waiting += through
    return None


def files_to_tidy(root, build):
    database = json.loads((build / "compile_commands.json").read_text())
    compiled = {Path(entry["directory"], entry["file"]).resolve() for entry in database}
    generated = build.parent  # what a build wrote is not the project's text
    sources = sorted(path.relative_to(root) for path in compiled
                     if path.is_relative_to(root) and not path.is_relative_to(generated) and path.is_file())
    chosen, unseen = set(), []
    for path in changed_files(root):
        source = path if path in sources else source_for(root, path, sources)
        if source is None:
            unseen.append(path)
        else:
            chosen.add(source)
    return sorted(chosen), unseen


def find_tool():
    """Version 14, else the system's own choice, else the newest with a number."""
    numbered = {match[0] for folder in os.environ.get("PATH", "").split(os.pathsep) if os.path.isdir(folder)
                for name in os.listdir(folder) if (match := re.fullmatch(r"clang-tidy-(\d+)", name))}
    newest_first = sorted(numbered, key=lambda name: -int(name.rpartition("-")[2]))
    return next((name for name in ["clang-tidy-14", "clang-tidy", *newest_first] if shutil.which(name)), None)


def tidy(tool, root, build, path, deadline):
    """(outcome, output): outcome is "good", "bad" or "late"."""
    left = deadline - time.monotonic()
    if left <= 0:
        return "late", ""
    command = [tool, "-p", str(build), "--quiet", "--extra-arg=-Wno-unknown-warning-option", str(root / path)]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=left, check=False)
    except subprocess.TimeoutExpired:
        return "late", ""
    return ("good" if answer.returncode == 0 else "bad"), answer.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--build", type=Path, required=True, help="a configured build folder")
    arguments = parser.parse_args()
    root = arguments.root.resolve()
    tool = find_tool()
    if tool is None:
        print("tidy: clang-tidy-14 is not installed, nor another version (./dev deps check)")
        return 1
    chosen, unseen = files_to_tidy(root, arguments.build.resolve())
    for path in unseen:
        print(f"tidy: {path} skipped, no compiled file includes it")
    if not chosen:
        print("tidy: skipped, no compiled file changed")
        return 0
    deadline = time.monotonic() + float(os.environ.get("GRAPNEL_TIDY_SECONDS", "420"))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = list(pool.map(lambda path: tidy(tool, root, arguments.build.resolve(), path, deadline), chosen))
    for path, (outcome, output) in zip(chosen, answers):
        if outcome == "bad":
            print(f"tidy: {path}\n{output}")
        elif outcome == "late":
            print(f"tidy: {path} not reached, the time was up (GRAPNEL_TIDY_SECONDS gives more)")
    outcomes = [outcome for outcome, _ in answers]
    if tool != "clang-tidy-14":
        print(f"tidy: these findings are {tool}'s and fail nothing: the checks are chosen for clang-tidy-14")
        outcomes = ["good" if outcome == "bad" else outcome for outcome in outcomes]
    print(f"tidy: {outcomes.count('good')} good, {outcomes.count('bad')} bad, {outcomes.count('late')} not reached")
    return 1 if outcomes.count("good") < len(outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
