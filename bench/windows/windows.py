#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`./dev bench windows`: MPI's windows by Grapnel, beside those of the host MPIs. docs/windows.md describes the rows.

usage: windows.py --programs DIR --library MPI=FILE... --bars FILE [--filter TEXT] [--runs N] [--quick] [--check] [--json FILE]
"""

import argparse
import os
import pathlib
import shutil
import signal
import sys

import window_jobs
import judging
import measures
import paper
import plain

LAUNCHERS = {"openmpi": "mpirun.openmpi", "mpich": "mpiexec.hydra"}
PARTS = [(measures.message_names, measures.messages), (measures.busy_names, measures.busy_target),
         (measures.idle_names, measures.idle_target), (plain.names, plain.plain_program), (paper.names, paper.figures)]


class Session:
    """What is measured, and where the rows go."""

    def __init__(self, args):
        self.filter, self.quick, self.runs = args.filter, args.quick, args.runs
        self.bars = judging.read_bars(args.bars)
        self.rows, self.skipped, self.failed = [], {}, {}
        self.hosts = [window_jobs.Windows(mpi, str(args.programs / f"{mpi}-windows")) for mpi in LAUNCHERS
                      if (args.programs / f"{mpi}-windows").exists() and shutil.which(LAUNCHERS[mpi])]
        self.ours = []
        for word in args.library:
            mpi, _, library = word.partition("=")
            host = next((one for one in self.hosts if one.mpi == mpi), None)
            if host is None or not pathlib.Path(library).exists():
                raise window_jobs.Trouble(f"--library {word}: no program for that MPI, or no such file; "
                                          "build first (./dev build)")
            self.ours.append(window_jobs.Windows(mpi, host.program, os.path.abspath(library)))

    def wants(self, names, holding=""):
        """Those of the names that the filter leaves."""
        return [name for name in names if self.filter in name and holding in name]

    def report(self, row):
        if self.filter in row.name:
            self.rows.append(judging.judge(row, self.bars))
            print(judging.line(row), flush=True)

    def skip(self, names, why):
        for name in names:
            self.skipped[name] = why
            print(f"{name:<58} skipped: {why}", flush=True)

    def fail(self, name, why, errors):
        if self.filter in name:
            self.failed[name] = why
            print(f"{name:<58} not measured: {why}", flush=True)
            print(errors, file=sys.stderr, end="")


def warn_of_company():
    load, processors = os.getloadavg()[0], os.cpu_count()
    if load >= 0.5:
        print(f"bench windows: the machine is not idle (load {load:.1f} on {processors} processors): expect noise",
              file=sys.stderr)


def positive(text):
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from 1 up")
    return int(text)


def arguments():
    parser = argparse.ArgumentParser(prog="bench windows", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--programs", required=True, type=pathlib.Path)
    parser.add_argument("--library", action="append", required=True, metavar="MPI=FILE")
    parser.add_argument("--bars", required=True)
    parser.add_argument("--filter", default="", help="only rows whose name holds this text")
    parser.add_argument("--runs", type=positive, default=5, help="interleaved jobs of a row with an idle target (5)")
    parser.add_argument("--quick", action="store_true", help="a tenth of the times")
    parser.add_argument("--check", action="store_true", help="exit 1 when a row falls short of its bar, or is missing")
    parser.add_argument("--json", help="write the rows there too")
    return parser.parse_args()


def main():
    args = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # jobs and labs end with this program
    try:
        session = Session(args)
        if args.json:
            open(args.json, "w", encoding="utf-8").close()  # before anything is measured
    except (OSError, window_jobs.Trouble) as trouble:
        print(f"bench windows: {trouble}", file=sys.stderr)
        return 2
    wanted = [(measure, session.wants(names(session))) for names, measure in PARTS]
    if not any(names for _, names in wanted):
        print(f"bench windows: no row's name holds '{args.filter}'", file=sys.stderr)
        return 2
    warn_of_company()
    print(judging.HEADING)
    for measure, names in wanted:
        if names:
            measure(session)
    if args.json:
        judging.write(args.json, session.rows, session.skipped)
    short = [row.name for row in session.rows if row.passes is False]
    print(f"\n{len(session.rows)} rows, {len(short)} short of their bars, {len(session.failed)} not measured, "
          f"{len(session.skipped)} skipped")
    for name in [*short, *session.failed]:
        print(f"  {name}: {session.failed.get(name, 'short of its bar')}")
    return 1 if args.check and (short or session.failed) else 0


if __name__ == "__main__":
    sys.exit(main())
