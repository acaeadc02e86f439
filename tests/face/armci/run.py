#!/usr/bin/env python3
"""Starts an ARMCI test program under mpirun, once per shape of the job, and judges exit code and output.

A shape is RANKSxNODES. Normally a run must exit 0 and print "passed"; with --dies it must not exit 0, must end by itself,
and print the given text. Prints one line per run.
"""

import argparse
import os
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


def verdict(code, output, dies):
    if code == "timeout":
        return "ran into the deadline"
    if dies is not None:
        if code == 0:
            return "ended well, but should have been stopped"
        return None if dies in output else f"was stopped without saying {dies!r}"
    if code != 0:
        return f"exit code {code}"
    return None if "passed" in output else "did not say that it passed"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--launcher", required=True)
    parser.add_argument("--mpi", required=True, choices=["openmpi", "mpich"])
    parser.add_argument("--shapes", default="2x1", help="RANKSxNODES, comma-separated")
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--dies", metavar="TEXT")
    parser.add_argument("program", nargs="+")
    arguments = parser.parse_args()
    variables = dict(each.split("=", 1) for each in arguments.set)
    failed = 0
    for shape in arguments.shapes.split(","):
        ranks, nodes = map(int, shape.split("x"))
        began = time.monotonic()
        words = command(arguments.launcher, arguments.mpi, ranks, arguments.program)
        code, output = run(words, nodes, variables, arguments.timeout)
        wrong = verdict(code, output, arguments.dies)
        name = " ".join([os.path.basename(arguments.program[0])] + arguments.program[1:])
        print(f"{name}: {ranks} ranks, {nodes} nodes, {time.monotonic() - began:.1f} s: {wrong or 'as it should'}")
        if wrong:
            failed += 1
            print(output)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
