#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The MPI paper's lock designs over RDMA devices: what is on the wire for each acquisition (its figure 4).

fabric.py --build BUILD [--filter TEXT] [--window-ms N] [--json FILE]

Runs where there are RDMA devices `rxe0` and up that meet at the bridge `fabric` (./dev lab guest run --devices 8): each
rank has a node and a device of its own, ranks 1 to N are origins of one lock at rank 0. Frames are captured on the bridge.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import wire

ORIGINS = (1, 2, 4, 7)
MARGIN_NS = 200_000_000  # the program sends nothing else so long before and behind its turns
FIRST_PAUSE_NS = {"GRAPNEL_LOCK_BACKOFF_NS": "100", "GRAPNEL_LOCK_BACKOFF_MOST_NS": "100"}
# Name, kind, domain, settings, most origins. Servers that poll take a processor each, and the guest has two.
DESIGNS = (
    ("thread_poll", "server_queue", "processor", {"GRAPNEL_PROGRESS": "poll"}, 1),
    ("thread_event", "server_queue", "processor", {"GRAPNEL_PROGRESS": "event"}, 7),
    ("test_and_set", "test_and_set", "network", {}, 7),
    ("test_and_set_without_backoff", "test_and_set", "network", FIRST_PAUSE_NS, 7),
    ("ticket", "ticket", "network", {}, 7),
    ("mcs_by_cas", "mcs_by_cas", "network", {}, 7),
)
CLAIMS = {
    "thread": "The paper: three messages, whatever the number of origins.",
    "test_and_set": "The paper: the more origins, the more compare-and-swaps fail, about nine with seven origins; back-off bounds it.",
    "ticket": "Not in the paper: one fetch-and-add for each look, in pauses by the distance from the head.",
    "mcs_by_cas": "The paper: about seven, whatever the number of origins, and none while a rank waits.",
}


def environment(settings):
    return dict(os.environ, UCX_TLS="rc_verbs,ud_verbs,self", UCX_UD_VERBS_ETH_DGID_CHECK="n", GRAPNEL_HEARTBEAT_MS="0",
                GRAPNEL_TRANSPORT="ucx", **settings)


def run_job(options, kind, domain, settings, origins):
    """What rank 0 printed, as numbers."""
    ranks = str(origins + 1)
    own_device = 'export UCX_NET_DEVICES="rxe$PMI_RANK:1"; exec "$@"'
    command = [options.build / "bin/grapnel", "run", "-n", ranks, "--nodes", ranks, "--timeout", "120", "--", "sh", "-c",
               own_device, "sh", options.build / "bin/grapnel-bench-fabric-locks", kind, domain, str(options.window_ms)]
    done = subprocess.run(command, env=environment(settings), stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"the job ended with {done.returncode}")
    pairs = (word.split("=") for line in done.stdout.splitlines() if line.startswith("begin_ns=") for word in line.split())
    return {name: int(value) for name, value in pairs}


def measure(options, design, origins):
    name, kind, domain, settings, _ = design
    with wire.Capture("fabric") as capture:
        numbers = run_job(options, kind, domain, settings, origins)
    frames = capture.count(numbers["begin_ns"] - MARGIN_NS, numbers["end_ns"] + MARGIN_NS)
    acquisitions = numbers["acquisitions"]
    row = {"name": f"fabric/messages/{name}/{origins}_origins", "acquisitions": acquisitions,
           "requests": sum(frames[one] for one in wire.REQUESTS) / acquisitions,
           "counted": (numbers["messages"] + numbers["operations"]) / acquisitions,
           "frames": {one: count / acquisitions for one, count in sorted(frames.items())}}
    return row


def show(row):
    frames = ", ".join(f"{name} {count:.2f}" for name, count in row["frames"].items())
    print(f"{row['name']:58} {row['requests']:6.2f} on the wire, {row['counted']:6.2f} counted by the locks "
          f"({row['acquisitions']} acquisitions; {frames})", flush=True)


def wanted_rows(text):
    return [(design, origins) for design in DESIGNS for origins in ORIGINS
            if origins <= design[-1] and text in f"fabric/messages/{design[0]}/{origins}_origins"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, type=Path)
    parser.add_argument("--filter", default="", metavar="TEXT", help="only rows whose name holds this text")
    parser.add_argument("--window-ms", type=int, default=1500, metavar="N", help="how long the origins take turns")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    rows, failures = [], 0
    for design, origins in wanted_rows(options.filter):
        try:
            rows.append(measure(options, design, origins))
            show(rows[-1])
        except (RuntimeError, wire.Lost) as reason:
            failures += 1
            print(f"{design[0]} with {origins} origins: {reason}", file=sys.stderr)
    for name, claim in CLAIMS.items():
        if any(row["name"].startswith(f"fabric/messages/{name}") for row in rows):
            print(f"{name}: {claim}")
    if options.json:
        options.json.write_text(json.dumps({"rows": rows}, indent=1) + "\n", encoding="utf-8")
    return 1 if failures or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
