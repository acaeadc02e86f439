#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The report of the shared heap names the false sharing that planted_sor has, and none in sor; with both protocols.

usage: report_test.py --tool GRAPNEL --planted PLANTED_SOR --sor SOR
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile


def report_of(tool, program, arguments, folder, protocol):
    """The report's JSON, and what the job printed."""
    file = os.path.join(folder, "report.json")
    environment = {**os.environ, "GRAPNEL_DSM_REPORT": file, "GRAPNEL_DSM_PROTOCOL": protocol}
    done = subprocess.run([tool, "run", "-n", "3", "--nodes", "3", "--", program, *arguments], text=True, timeout=100,
                          capture_output=True, env=environment)
    output = done.stdout + done.stderr
    if done.returncode != 0:
        sys.exit(f"exit code {done.returncode}:\n{output}")
    with open(file, encoding="utf-8") as opened:
        return json.load(opened), output


def check(condition, what, output):
    if not condition:
        sys.exit(f"{what}:\n{output}")


def check_planted(options, folder, protocol):
    report, output = report_of(options.tool, options.planted, [], folder, protocol)
    first = report["findings"][0]
    check(first["kind"] == "false_sharing", "the most expensive page is no false sharing", output)
    # Which nodes are seen depends on where the counters begin, not that there are several; each counter is 4 bytes.
    found = re.search(r"block \(12 bytes, allocated in planted_sor\+(0x[0-9a-f]+)\).*: node \d writes bytes (\d+)–(\d+), "
                      r"node \d bytes \d+–\d+.* in the same eras: false sharing", first["sentence"])
    check(found, "the sentence does not name the counters", output)
    check(int(found[3]) - int(found[2]) == 3, "a counter is 4 bytes long", output)
    lines = output.splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("shared heap: the "))
    check(lines[begin + 1].strip() == first["sentence"], "the first line is not the first finding", output)


def check_sor(options, folder, protocol):
    """Its rows are whole pages: what nodes share is the edges, which one neighbour reads."""
    report, output = report_of(options.tool, options.sor, ["--n", "1024", "--iterations", "20"], folder, protocol)
    kinds = {finding["kind"] for finding in report["findings"] if finding["fetches"] > 10}
    check(kinds == {"read_by_one"}, f"sor has {kinds}", output)


def main():
    parser = argparse.ArgumentParser()
    for option in ("--tool", "--planted", "--sor"):
        parser.add_argument(option, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for protocol in ("hlrc", "lrc"):
            check_planted(options, folder, protocol)
            check_sor(options, folder, protocol)


if __name__ == "__main__":
    main()
