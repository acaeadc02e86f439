# SPDX-License-Identifier: Apache-2.0
"""Which files of a folder are test programs."""

import fnmatch
import os
import re
import struct
from pathlib import Path

# What build systems make for themselves.
PASSED_OVER_FOLDERS = {"CMakeFiles", ".git", ".deps", "autom4te.cache", "_deps"}
_SHARED_LIBRARY = re.compile(r"\.so(?:\.\d+)*$")
_ET_EXEC, _ET_DYN, _PT_INTERP = 2, 3, 3


def is_elf_program(path):
    """An ELF file that the kernel can start: not a library, an object or a core file."""
    if _SHARED_LIBRARY.search(path.name):
        return False
    try:
        with open(path, "rb") as file:
            head = file.read(4096)
    except OSError:
        return False
    if head[:4] != b"\x7fELF" or len(head) < 64:
        return False
    order = "<" if head[5] == 1 else ">"
    wide = head[4] == 2
    kind = struct.unpack_from(order + "H", head, 16)[0]
    if kind == _ET_EXEC:
        return True
    if kind != _ET_DYN:
        return False
    table = struct.unpack_from(order + ("Q" if wide else "I"), head, 32 if wide else 28)[0]
    size, count = struct.unpack_from(order + "HH", head, 54 if wide else 42)
    places = range(table, min(table + size * count, len(head) - 4), size or 1)
    return any(struct.unpack_from(order + "I", head, place)[0] == _PT_INTERP for place in places)


def first_bytes(path, count):
    try:
        with open(path, "rb") as file:
            return file.read(count)
    except OSError:
        return b""


def is_libtool_wrapper(path):
    """The script that libtool puts where the program belongs; the program itself is in .libs beside it."""
    head = first_bytes(path, 1024)
    return head[:2] == b"#!" and b"temporary wrapper script" in head and b"libtool" in head


def is_script(path):
    return first_bytes(path, 2) == b"#!"


def is_duplicate(path):
    """A program in .libs that is started by libtool's wrapper one folder up, or is a copy of the program there."""
    if path.parent.name != ".libs":
        return False
    outside = path.parent.parent
    return any((outside / name).exists() for name in {path.name, path.name.removeprefix("lt-")})


def is_program(path, scripts):
    if not path.is_file() or not os.access(path, os.X_OK) or is_duplicate(path):
        return False
    return is_elf_program(path) or is_libtool_wrapper(path) or (scripts and is_script(path))


def find(folder, only=(), skip=(), scripts=False):
    """The programs below the folder, by name relative to it. `only`, `skip`: patterns of the shell for that name, or
    for its last part."""
    found = []
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(set(folders) - PASSED_OVER_FOLDERS)
        for name in sorted(files):
            path = Path(place, name)
            if wanted(path.relative_to(folder), only, skip) and is_program(path, scripts):
                found.append(path)
    return found


def wanted(name, only, skip):
    def matches(patterns):
        return any(fnmatch.fnmatch(str(name), p) or fnmatch.fnmatch(name.name, p) for p in patterns)

    return (not only or matches(only)) and not matches(skip)
