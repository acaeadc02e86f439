#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Starts a test program of ARMCI or MPI under mpirun, once per shape of the job, and judges exit code and output.

A shape is RANKSxNODES. Normally a run must exit 0 and print "passed", with the ranks and nodes of its shape; with --dies it
must not exit 0, must end by itself, and print the given text. --messages reads the table of GRAPNEL_STATS. Prints one
line per run.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import time


def command(launcher, flavour, ranks, program):
    words = [launcher]
    if flavour == "openmpi":
        words += ["--allow-run-as-root", "--oversubscribe"]
    return words + ["-n", str(ranks)] + program


def run(words, nodes, variables, seconds):
    environment = dict(os.environ, GRAPNEL_NODES=str(nodes), **variables)
    process = subprocess.Popen(
        words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    try:
        output, _ = process.communicate(timeout=seconds)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        # The launcher passes SIGTERM on to the ranks; what is left of its own group goes afterwards.
        process.terminate()
        try:
            output, _ = process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
        return "timeout", output


def wrong_messages(output, wanted):
    """`wanted` is OPERATION=N: all ranks' messages of that operation between nodes."""
    operation, count = wanted.split("=")
    found = re.search(rf"^{operation} .* (\d+)$", output, re.MULTILINE)
    if not found:
        return f"the table has no row {operation!r}"
    return None if found[1] == count else f"{operation} took {found[1]} messages, not {count}"


def verdict(code, output, shape, arguments):
    if code == "timeout":
        return "ran into the deadline"
    dies = arguments.dies
    if dies is not None:
        if code == 0:
            return "ended well, but should have been stopped"
        return None if dies in output else f"was stopped without saying {dies!r}"
    if code != 0:
        return f"exit code {code}"
    if arguments.says and arguments.says not in output:
        return f"did not say {arguments.says!r}"
    if arguments.never_says and arguments.never_says in output:
        return f"said {arguments.never_says!r}"
    passed = re.search(r"^passed: (\d+) ranks, (?:(\d+) nodes)?", output, re.MULTILINE)
    if not passed:
        return "did not say that it passed"
    if passed[1] != str(shape[0]) or passed[2] not in (None, str(shape[1])):
        return f"passed as another shape: {passed[0]}"
    return next(filter(None, (wrong_messages(output, wanted) for wanted in arguments.messages)), None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--launcher", required=True)
    parser.add_argument("--mpi", required=True, choices=["openmpi", "mpich"])
    parser.add_argument("--shapes", default="2x1", help="RANKSxNODES, comma-separated")
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--dies", metavar="TEXT")
    parser.add_argument("--says", metavar="TEXT", help="besides that it passed")
    parser.add_argument("--never-says", metavar="TEXT", help="what it must not print")
    parser.add_argument("--messages", action="append", default=[], metavar="OPERATION=N")
    parser.add_argument("program", nargs="+")
    arguments = parser.parse_args()
    variables = dict(each.split("=", 1) for each in arguments.set)
    if arguments.messages:
        variables["GRAPNEL_STATS"] = "1"
    failed = 0
    for shape in arguments.shapes.split(","):
        ranks, nodes = map(int, shape.split("x"))
        began = time.monotonic()
        words = command(arguments.launcher, arguments.mpi, ranks, arguments.program)
        code, output = run(words, nodes, variables, arguments.timeout)
        wrong = verdict(code, output, (ranks, nodes), arguments)
        name = " ".join([os.path.basename(arguments.program[0])] + arguments.program[1:])
        print(f"{name}: {ranks} ranks, {nodes} nodes, {time.monotonic() - began:.1f} s: {wrong or 'as it should'}")
        if wrong:
            failed += 1
            print(output)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
