#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The MPI paper's lock designs over RDMA devices: its figures 1 to 6, with what is on the wire.

fabric.py --build BUILD [--filter TEXT] [--quick] [--json FILE]

Runs where there are RDMA devices `rxe0` and up that meet at the bridge `fabric` (./dev lab guest run --devices 8): each
node has a device of its own. docs/bench.md describes the rows, docs/papers.md what they showed.
"""

import argparse
import os
import sys
import time
from pathlib import Path

import fabric_jobs
import fabric_rows
import lock_claims
import wire


def show(row):
    quartiles = "" if row.low is None else f" ({row.low:,.1f} to {row.high:,.1f})"
    note = f"; {row.note}" if row.note else ""
    print(f"{row.name:<62} {row.value:>11,.2f} {row.unit}, {row.runs}{quartiles}{note}{'; DISTURBED' if row.disturbed else ''}",
          flush=True)


def steps_of(options, figures, design):
    """Pairs of figure and number that have a row whose name holds the filter's text."""
    return [(figure, number) for figure in figures if design in fabric_rows.designs_of(figure)
            for number in figure.steps(options.quick)
            if any(options.filter in name for name in fabric_rows.names(figure, number, design))]


def jobs_of(options):
    """Of each job design, ranks, nodes and steps."""
    for ranks, nodes, figures in fabric_rows.SHAPES:
        for design in (*fabric_jobs.DESIGNS, fabric_jobs.WITHOUT_BACKOFF):
            steps = steps_of(options, figures, design)
            if steps:
                yield design, ranks, nodes, steps


def measure_all(options):
    """Rows, in the order in which they are measured, and why others are missing, by their names."""
    rows, failed = [], {}
    for design, ranks, nodes, steps in jobs_of(options):
        try:
            found = [row for row in fabric_rows.measure(options, design, ranks, nodes, steps) if options.filter in row.name]
        except (fabric_jobs.Failed, wire.Lost) as reason:
            missing = [name for figure, number in steps for name in fabric_rows.names(figure, number, design)]
            failed.update({name: str(reason) for name in missing if options.filter in name})
            print(f"{design.name} on {ranks} ranks: not measured: {reason}", file=sys.stderr, flush=True)
            continue
        for row in found:
            show(row)
        rows += found
    return rows, failed


def show_figures(rows):
    for figure in fabric_rows.FIGURES:
        if any(row.name.startswith(f"fabric/{figure.name}/") for row in rows):
            print("\n".join(["", *lock_claims.sentences(figure.name, rows)]))


def main():
    parser = argparse.ArgumentParser(prog="bench fabric", description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, type=Path)
    parser.add_argument("--filter", default="", metavar="TEXT", help="only rows whose name holds this text")
    parser.add_argument("--quick", action="store_true", help="0.4 s for a step, not 1 s, and of each figure the first and last steps only")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there too")
    options = parser.parse_args()
    if not any(jobs_of(options)):
        print(f"bench fabric: no row's name holds '{options.filter}'", file=sys.stderr)
        return 2
    start = time.monotonic()
    rows, failed = measure_all(options)
    show_figures(rows)
    print(f"\n{len(rows)} rows, {len(failed)} not measured, {time.monotonic() - start:.0f} s on {len(os.sched_getaffinity(0))} "
          "emulated processors")
    if options.json:
        fabric_rows.write(options.json, rows, failed)
    return 1 if failed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
