#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a test over an RDMA device of this machine: run.py [NAME=VALUE ...] -- PROGRAM ...

The program's UCX uses the first port that is up, by verbs, and nothing else. Without such a device the test is skipped;
`./dev lab guest test` runs it where there is one.
"""

import os
import sys
from pathlib import Path

SKIPPED = 77  # ctest's SKIP_RETURN_CODE
DEVICES = Path("/sys/class/infiniband")
ACTIVE = "4: ACTIVE"


def first_port():
    """DEVICE:PORT as UCX names it, or None."""
    for device in sorted(DEVICES.glob("*")):
        for port in sorted((device / "ports").glob("*")):
            if (port / "state").read_text().strip() == ACTIVE:
                return f"{device.name}:{port.name}"
    return None


def settings(port):
    return {
        "UCX_TLS": "rc_verbs,ud_verbs,self",
        "UCX_NET_DEVICES": port,
        "UCX_UD_VERBS_ETH_DGID_CHECK": "n",  # UCX 1.13 drops what soft RoCE delivers: its addresses look like others'
    }


def main():
    at = sys.argv.index("--")
    chosen = dict(pair.split("=", 1) for pair in sys.argv[1:at])
    port = first_port()
    if port is None:
        print("skipped: this machine has no RDMA device with an active port (./dev lab guest test has)")
        return SKIPPED
    command = sys.argv[at + 1:]
    os.environ.update(settings(port) | chosen)
    os.execvp(command[0], command)


if __name__ == "__main__":
    sys.exit(main())
