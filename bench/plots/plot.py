#!/usr/bin/env python3
"""Pictures of the rows that grapnel-bench wrote with --json.

usage: plot.py FILE.json... --out DIR

One PNG per metric for the scenario `locks`, the figures of the papers for `dse`, `dsm --papers`, `windows` and `fabric`, one with the
ratios for any other. `./dev bench SCENARIO --plot DIR` runs it on a machine with matplotlib (Debian: python3-matplotlib).
docs/bench.md says how to read them.
SPDX-License-Identifier: Apache-2.0
"""

import argparse
import json
import pathlib
import sys

import dse
import dsm_papers
import fabric_figures
import locks
import ratios
import rows
import window_figures

CHARTS = {"locks": locks.charts, "dse": dse.charts, "dsm_papers": dsm_papers.charts, "windows": window_figures.charts,
          "fabric": fabric_figures.charts}


def main() -> int:
    parser = argparse.ArgumentParser(description="Pictures of the rows that grapnel-bench wrote with --json.")
    parser.add_argument("files", nargs="+", type=pathlib.Path, metavar="FILE.json")
    parser.add_argument("--out", required=True, type=pathlib.Path, metavar="DIR", help="is made if it does not exist")
    options = parser.parse_args()
    try:
        table = rows.Table.read(options.files)
    except (OSError, ValueError, KeyError) as error:
        print(f"plot.py: {error}", file=sys.stderr)
        return 1
    options.out.mkdir(parents=True, exist_ok=True)
    written = []
    for scenario in table.scenarios():
        for name, figure in CHARTS.get(scenario, ratios.charts)(table.of(scenario), scenario):
            path = options.out / f"{name}.png"
            figure.savefig(path, dpi=110)
            written.append(path)
    for path in written:
        print(path)
    return 0 if written else 1


if __name__ == "__main__":
    sys.exit(main())
