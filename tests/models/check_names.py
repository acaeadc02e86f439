#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every name of the code that a model's comments give must be in the code: check_names.py SOURCES MODEL..."""
import re
import sys
from pathlib import Path


def main():
    code = "\n".join(path.read_text() for path in sorted(Path(sys.argv[1]).rglob("*.[ch]pp")))
    words = set(re.findall(r"\w+", code))
    missing = []
    for model in sys.argv[2:]:
        for comment in re.findall(r"/\*.*?\*/", Path(model).read_text(), re.DOTALL):
            names = re.findall(r"\b[A-Z]\w*(?:::\w+)+", comment)
            files = re.findall(r"\b\w+\.[ch]pp\b", comment)
            missing += [f"{model}: {name}" for name in names if not set(name.split("::")) <= words]
            missing += [f"{model}: {file}" for file in files if not list(Path(sys.argv[1]).rglob(file))]
    if missing:
        sys.exit("models name what the code does not have:\n" + "\n".join(missing))


if __name__ == "__main__":
    main()
