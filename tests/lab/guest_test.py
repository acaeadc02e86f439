# SPDX-License-Identifier: Apache-2.0
"""`lab guest run`: output, exit code, files and devices, the time limit, and that nothing is left after kill -9.

guest_test.py [unittest arguments]
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
LAB = HERE.parent.parent / "tools/lab/lab"
sys.path.append(str(HERE.parent / "harness"))
sys.path.append(str(LAB.parent))
import guest  # noqa: E402
import skips  # noqa: E402

SKIPPED = 77  # ctest's SKIP_RETURN_CODE


def command(*words, **options):
    pairs = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    return [str(LAB), "guest", "run", *pairs, "--", *words]


def run(*words, **options):
    return subprocess.run(command(*words, **options), capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          timeout=300, check=False)


def machines_of(process):
    """The qemu processes that this process started."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [int(child) for child in children if "qemu" in Path(f"/proc/{child}/comm").read_text()]


class Guest(unittest.TestCase):
    def test_what_a_program_does_comes_back(self):
        with tempfile.TemporaryDirectory() as folder:
            script = (f'echo "to out"; echo "to err" >&2; ls /sys/class/infiniband; ls /sys/class/net >{folder}/net;'
                      f'echo "$0" >{HERE}/lost; pwd; exit 7')
            done = run("bash", "-c", script, "it's  $HOME", devices=3, out=folder)
            self.assertEqual((done.returncode, done.stderr), (7, "to err\n"), done.stdout)
            self.assertEqual(done.stdout.split(), ["to", "out", "rxe0", "rxe1", "rxe2", os.getcwd()])
            self.assertIn("fabric", Path(folder, "net").read_text().split())
        self.assertFalse((HERE / "lost").exists(), "the guest wrote into this machine's files")

    def test_time_is_limited(self):
        begin = time.monotonic()
        done = run("sleep", "1000", timeout=5)
        self.assertEqual((done.returncode, done.stderr), (124, "lab: the guest was ended after 5 s\n"))
        self.assertLess(time.monotonic() - begin, 60)

    def test_nothing_is_left_after_a_kill(self):
        for number in (signal.SIGKILL, signal.SIGINT):
            with self.subTest(signal=number):
                job = subprocess.Popen(command("sleep", "1000"), stdin=subprocess.DEVNULL)
                machines = []
                while not machines and job.poll() is None:
                    time.sleep(0.05)
                    machines = machines_of(job.pid)
                job.send_signal(number)
                self.assertEqual(job.wait(10), -9 if number == signal.SIGKILL else 130)
                end = time.monotonic() + 5
                while Path(f"/proc/{machines[0]}/cmdline").exists() and time.monotonic() < end:
                    time.sleep(0.02)
                self.assertFalse(Path(f"/proc/{machines[0]}/cmdline").exists(), "qemu is left")

    def test_a_program_that_is_not_there(self):
        done = run("/no/such/program")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^lab: error: in the guest: cannot start /no/such/program: ")


if __name__ == "__main__":
    if guest.has_devices():
        print("skipped: this machine has RDMA devices, and needs no guest")
        sys.exit(SKIPPED)
    try:
        guest.prepare()
    except guest.Skipped as reason:
        print(f"skipped: guest: {reason}")
        sys.exit(SKIPPED)
    skips.main(sys.argv[1:])
