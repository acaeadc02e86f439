#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails where a member that a mutex guards (src/base/mutex.hpp) is reached without the mutex.

clang parses, with -Wthread-safety, every source of src that has such a member, takes such a mutex, or includes a header of
its own layer that has such a member. How a source is compiled comes from BUILD/compile_commands.json; sources that this build does not compile
(an MPI that is not there) are left out.

usage: check_threads.py --build BUILD [--root TREE]
"""

import argparse
import concurrent.futures
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GUARDED = "GRAPNEL_GUARDED_BY("
DEFINES_IT = "base/mutex.hpp"
TAKES = re.compile(r"\b(?:MutexLock|ExclusiveLock|SharedLock)\b")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)
# Of the compiler's words only these matter to clang's parser.
KEPT = ("-I", "-D", "-std=", "-isystem")


def guarded_headers(sources):
    headers = (path.relative_to(sources).as_posix() for path in sources.rglob("*.hpp") if GUARDED in path.read_text())
    return {header for header in headers if header != DEFINES_IT}


def is_judged(source, sources, headers):
    text = source.read_text()
    layer = source.relative_to(sources).parts[0]
    of_layer = {header for header in headers if header.split("/")[0] == layer}
    return GUARDED in text or TAKES.search(text) is not None or not of_layer.isdisjoint(INCLUDE.findall(text))


def parser_words(command):
    words, kept = shlex.split(command), []
    for i, word in enumerate(words):
        if word == "-isystem":
            kept += [word, words[i + 1]]
        elif word.startswith(KEPT):
            kept.append(word)
    return kept


def judge(clang, entry):
    words = [clang, "-fsyntax-only", "-Wno-everything", "-Wthread-safety", "-Werror=thread-safety", *parser_words(entry["command"])]
    ran = subprocess.run([*words, entry["file"]], cwd=entry["directory"], capture_output=True, text=True, check=False)
    return ran.stderr if ran.returncode != 0 else ""


def main():
    parser = argparse.ArgumentParser(description="Checks what mutexes guard.")
    parser.add_argument("--build", required=True, type=Path)
    parser.add_argument("--root", default=ROOT, type=Path)
    args = parser.parse_args()
    clang = shutil.which("clang++-14") or shutil.which("clang++")
    if clang is None:
        print("threads: clang is not installed (./dev deps check)")
        return 1
    sources = args.root.resolve() / "src"
    headers, entries = guarded_headers(sources), {}
    for entry in json.loads((args.build / "compile_commands.json").read_text()):
        source = Path(entry["directory"], entry["file"]).resolve()
        if source.is_relative_to(sources) and is_judged(source, sources, headers):
            entries.setdefault(source, entry)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = [text for text in pool.map(lambda entry: judge(clang, entry), entries.values()) if text]
    sys.stdout.write("".join(found))
    print(f"threads: {len(entries)} sources judged, {len(found)} with findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
