# SPDX-License-Identifier: Apache-2.0
"""Memory that an adapter may not pin (ulimit -l): an error with the limit and the remedy, at the start or at the allocation.

memlock_test.py --tool BIN/grapnel --probe BIN/rdma_probe
"""

import argparse
import subprocess
import sys

MIB = 1 << 20
# An ordinary user's: root may pin what it likes, by a capability.
WITHOUT_CAPABILITY = ["setpriv", "--bounding-set", "-ipc_lock", "--"]


def job(options, limit_kib, bytes_of_a_rank):
    script = f'ulimit -l {limit_kib}; exec "$@"'
    words = [*WITHOUT_CAPABILITY, "bash", "-c", script, "bash", options.tool, "run", "-n", "2", "--nodes", "2", "--",
             options.probe, str(bytes_of_a_rank)]
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120, check=False)
    return done.returncode, done.stdout + done.stderr


def lines_of(text, beginning):
    return [line for line in text.splitlines() if line.startswith(beginning)]


def check(condition, what, text):
    if not condition:
        print(f"memlock: {what}\n{text}")
        sys.exit(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", required=True)
    parser.add_argument("--probe", required=True)
    options = parser.parse_args()

    code, text = job(options, "unlimited", MIB)
    check(code == 0 and lines_of(text, "allocate: ok"), "without a limit the allocation fails", text)

    code, text = job(options, 256 * 1024, 512 * MIB)
    refused = lines_of(text, "allocate: no memory")
    check(len(refused) == 2, "an allocation above the limit is not refused in both ranks", text)
    check(all("ulimit -l" in line and "262144 KiB" in line for line in refused), "the limit is not named", text)

    # Too little for anything; by one page for what the start tries; for a leader's two workers.
    for limit_kib in (64, 64 * 1024, 100 * 1024):
        code, text = job(options, limit_kib, MIB)
        refused = lines_of(text, "start: ")
        check(code != 0 and refused, f"{limit_kib} KiB are enough for a job", text)
        check(all("ulimit -l" in line and f"{limit_kib} KiB" in line for line in refused),
              f"the limit of {limit_kib} KiB is not named at the start", text)
    print("memlock: refused with the limit and the remedy")


main()
