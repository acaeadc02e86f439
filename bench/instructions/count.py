#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions of the calls that users make most, inside a node, and holds them against bars.

A count is the difference of two runs under `valgrind --tool=callgrind`, of 1,000 and of 1,001,000 calls, divided by their
number: what starting and ending take cancels out, but for some tenths of an instruction. It is the same on an idle and on
a busy machine. It differs between compilers, and for calls that copy more than some bytes between processors, as kernels
are chosen by the processor.

usage: count.py --program FILE… --bars FILE [--filter TEXT] [--check] [--json FILE]
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor

FEW, MANY = 1_000, 1_001_000
# Open MPI lets a process alone be its own job without a daemon beside it.
ENVIRONMENT = {**os.environ, "OMPI_MCA_ess_singleton_isolated": "1"}
COLLECTED = re.compile(r"Collected *: *(\d+)")


def instructions(program, call, count):
    words = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, call, str(count)]
    ran = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300, env=ENVIRONMENT)
    collected = COLLECTED.search(ran.stderr)
    if ran.returncode != 0 or collected is None:
        sys.exit(f"instructions: {' '.join(words)} failed:\n{ran.stderr}")
    return int(collected[1])


def per_call(program, call):
    return (instructions(program, call, MANY) - instructions(program, call, FEW)) / (MANY - FEW)


def row_of(call, value, bars):
    bar = bars.get(call, {}).get("value_max")
    return {"name": call, "value": round(value, 2), "unit": "instructions", "value_max": bar,
            "pass": bar is not None and value <= bar}


def line_of(row):
    bar = "no bar" if row["value_max"] is None else f"at most {row['value_max']:g}"
    return f"{row['name']:<20} {row['value']:>8.2f} instructions   {bar:<14} {'' if row['pass'] else 'MISSES IT'}".rstrip()


def main():
    parser = argparse.ArgumentParser(description="Counts the instructions of a call.")
    parser.add_argument("--program", required=True, action="append")
    parser.add_argument("--bars", required=True)
    parser.add_argument("--filter", default="")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--json")
    args = parser.parse_args()
    with open(args.bars, "rb") as file:
        bars = tomllib.load(file).get("instructions", {})
    calls = [(program, call) for program in args.program
             for call in subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
             if args.filter in call]
    if not calls:
        sys.exit(f"instructions: no row's name holds '{args.filter}'")
    with ThreadPoolExecutor(2) as pool:
        values = pool.map(lambda pair: per_call(*pair), calls)
        rows = [row_of(call, value, bars) for (_, call), value in zip(calls, values)]
    print("\n".join(line_of(row) for row in rows))
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({"scenario": "instructions", "rows": rows}, file, indent=1)
    return 1 if args.check and not all(row["pass"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
