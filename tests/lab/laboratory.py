# SPDX-License-Identifier: Apache-2.0
"""What tests that need a lab share: a lab of their own, which goes with them."""

import functools
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools/lab"))
sys.path.append(str(ROOT / "tests/launch"))

import network  # noqa: E402
from job import TIMED_OUT  # noqa: E402
from mpi_test import OPEN_MPI, is_open_mpi_5  # noqa: E402
from place import LabError, Place, processes_in, state_of  # noqa: E402

LAB = ROOT / "tools/lab/lab"
SKIPPED = 77  # ctest's SKIP_RETURN_CODE
# The launchers that are installed here; one is enough for these tests.
MPIS = [name for name, program in (("openmpi", "mpirun.openmpi"), ("mpich", "mpiexec.hydra")) if shutil.which(program)]


@functools.cache
def has_open_mpi_5():
    return OPEN_MPI is not None and is_open_mpi_5(OPEN_MPI)


def skip_unless_permitted():
    """Ends this program, with the reason, where there can be no lab."""
    try:
        network.check_permitted()
    except LabError as error:
        print(f"skipped: {error}")
        sys.exit(SKIPPED)
    if not MPIS:
        print("skipped: neither Open MPI's mpirun nor MPICH's hydra is installed (./dev deps lab)")
        sys.exit(SKIPPED)


def lab(*words, timeout=60, **more):
    return subprocess.run([LAB, *map(str, words)], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          timeout=timeout, check=False, **more)


class Laboratory:
    """A lab with a number that nobody has; `with` removes it. One whose test was killed goes by itself."""

    def __init__(self, hosts, *words, build):
        words = [*words, "--lab", "free", "--owner", os.getpid(), "--delay-line", Path(build) / "bin/lab-delay-line"]
        made = lab("up", hosts, *words)
        if made.returncode:
            raise RuntimeError(made.stderr)
        self.number = int(made.stdout.split(":")[0].removeprefix("lab "))
        self.place = Place(self.number)
        self.hosts = [self.place.host(index) for index in range(hosts)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.down()

    def down(self):
        done = lab("down", "--lab", self.number)
        if done.returncode:
            raise RuntimeError(done.stderr)

    def run(self, *words, **more):
        """Open MPI 5's launcher does not end after one job of several to ten (docs/launch.md, Limits): then another job."""
        if "--timeout" in words or not has_open_mpi_5():
            return lab("run", "--lab", self.number, *words, **more)
        for _ in range(6):
            done = lab("run", "--lab", self.number, "--timeout", 20, *words, **more)
            if done.returncode != TIMED_OUT:
                break
        return done

    def start(self, name, *words, **more):
        """A command of the lab that goes on: run or exec."""
        command = [LAB, name, "--lab", str(self.number), *map(str, words)]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, **more)

    def processes(self):
        found = [process for host in self.hosts for process in processes_in(host)]
        return [process for process in found if state_of(process) not in ("Z", None)]

    def is_empty_within(self, limit_s):
        end = time.monotonic() + limit_s
        while self.processes() and time.monotonic() < end:
            time.sleep(0.02)
        return not self.processes()
