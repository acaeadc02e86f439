#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The calls that libgrapnel-mpi takes over, by its table, by `nm`, and by the host's header.

usage: names_test.py LIBRARY CALLS_HPP MPI_H…

Each call of the table is exported by both names, and nothing else but Fortran's attribute wrappers is. Each call of the
host's header that has a window among its parameters is in the table, or in the list below with the reason.
"""

import re
import subprocess
import sys
from pathlib import Path

# The host's answers are right, for a handle is a window of the host.
THE_HOSTS = {
    "Win_c2f", "Win_f2c", "Win_call_errhandler", "Win_create_errhandler", "Win_get_errhandler", "Win_set_errhandler",
    "Win_create_keyval", "Win_free_keyval", "Win_delete_attr", "Win_set_attr", "Win_get_name", "Win_set_name",
    "Win_fromint", "Win_toint",
}  # fmt: skip


# Of a Fortran compiler with one underscore, and by mpi_f08.
FORTRANS = ("mpi_win_get_attr_", "pmpi_win_get_attr_", "mpi_win_get_attr_f08_")


def exported(library):
    text = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1] for line in text.splitlines()}


def table(calls_hpp):
    text = Path(calls_hpp).read_text(encoding="utf-8")
    counted = set(re.findall(r"\bCALL\(\s*\\?\s*(\w+)##suffix,", text))
    return set(re.findall(r"\bCALL\((\w+),", text)) - {"name"} | counted | {f"{name}_c" for name in counted}


def of_windows(headers):
    """The calls of C with an MPI_Win, or a pointer to one, among their parameters or as their result."""
    found = set()
    for header in headers:
        text = re.sub(r"/\*.*?\*/|^\s*#(?:[^\n]*\\\n)*[^\n]*", " ", Path(header).read_text(encoding="utf-8"), flags=re.S | re.M)
        for result, name, parameters in re.findall(r"(\w+)\s+MPI_([A-Z]\w+)\s*\(([^;{}]*?)\)[^;{}()]*;", text):
            if result == "MPI_Win" or re.search(r"\bMPI_Win\b", parameters):
                found.add(name)
        for name, parameters in re.findall(r"\bMPI_([A-Z][a-z]\w+)\s*\(([^;{}]*?\bMPI_Win\b[^;{}]*?)\)", text):
            found.add(name)
    return {name for name in found if not re.search(r"function$|^Win_errhandler_fn$", name)}


def main():
    library, calls_hpp, *headers = sys.argv[1:]
    names, calls = exported(library), table(calls_hpp)
    large = {name for name in calls if name.endswith("_c")}
    has_large = "MPI_Put_c" in names
    wanted = calls if has_large else calls - large
    mistakes = [f"{kind}_{name} is not exported" for name in sorted(wanted) for kind in ("MPI", "PMPI") if f"{kind}_{name}" not in names]
    allowed = {f"{kind}_{name}" for name in wanted for kind in ("MPI", "PMPI")}
    mistakes += [f"{name} is exported" for name in sorted(names - allowed) if "get_attr" not in name.lower()]
    mistakes += [f"{name} is not exported" for name in FORTRANS if name not in names]
    theirs = of_windows(headers)
    if len(theirs) < 40:
        mistakes.append(f"only {len(theirs)} calls with a window are found in {headers}")
    mistakes += [f"MPI_{name} takes a window and is not in the table" for name in sorted(theirs - wanted - THE_HOSTS)]
    print("\n".join(mistakes) or f"{len(wanted)} calls by both names; {len(theirs)} of the host take a window")
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
