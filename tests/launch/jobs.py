# SPDX-License-Identifier: Apache-2.0
"""What the tests of launchers have in common: a job in a folder and an environment of its own.

Every test has a TMPDIR of its own that must be empty at the end, and marks its processes by a variable of the
environment, by which those that were left behind are found.
"""
import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import uuid
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "harness"))
import skips  # noqa: E402

OPTIONS = argparse.Namespace()
MARK = "GRAPNEL_TEST_MARK"


def marked_processes(mark):
    wanted = f"{MARK}={mark}".encode()
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as environment:
                if wanted in environment.read().split(b"\0"):
                    found.append(int(name))
        except OSError:
            pass
    return found


def shared_files_of_jobs():
    # Not Open MPI's: the test's own jobs have theirs in TMPDIR (Case.setUp), and what is here is of jobs beside the test.
    owners = ("grapnel", "pmix", "ucx")
    return {name for name in os.listdir("/dev/shm") if any(owner in name for owner in owners)}


def is_mapped(name):
    """Whether a living process uses the file of /dev/shm: then it is another job's, beside the test."""
    for maps in Path("/proc").glob("[0-9]*/maps"):
        try:
            if f"/dev/shm/{name}" in maps.read_text():
                return True
        except OSError:
            pass  # the process has ended
    return False


# Standard descriptors that may be closed where a program starts.
CLOSED = ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2))


def closing(closed):
    """A launcher that closes these and becomes what it is given: subprocess would put its own in their places."""
    return ["sh", "-c", 'exec "$@" ' + " ".join(f"{number}>&-" for number in closed), "sh"]


class Case(unittest.TestCase):
    def setUp(self):
        self.mark = uuid.uuid4().hex
        self.folder = tempfile.mkdtemp(prefix="launch-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)  # also where a subclass skips in its setUp
        self.shared = shared_files_of_jobs()
        # Open MPI's ranks leave their shared memory behind when mpirun is killed, with Grapnel or without: not in /dev/shm.
        self.environment = dict(os.environ, TMPDIR=self.folder, OMPI_ALLOW_RUN_AS_ROOT="1",
                                OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", PRTE_ALLOW_RUN_AS_ROOT="1",
                                PRTE_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_btl_vader_backing_directory=self.folder,
                                OMPI_MCA_btl_sm_backing_directory=self.folder)
        self.environment[MARK] = self.mark
        for name in ("GRAPNEL_NODES", "SLURM_JOB_ID"):
            self.environment.pop(name, None)

    def tearDown(self):
        left = marked_processes(self.mark)
        for process in left:
            os.kill(process, signal.SIGKILL)
        files = os.listdir(self.folder)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.assertEqual(left, [], "processes were left behind")
        self.assertEqual(files, [], "files were left in TMPDIR")
        self.assertEqual(self.shared_files_left(), [], "files were left in /dev/shm")

    def shared_files_left(self, limit_s=3):
        """New ones that no process uses; those of other jobs on this machine, which begin and end, get some time."""
        begin = time.monotonic()
        while True:
            left = [name for name in sorted(shared_files_of_jobs() - self.shared) if not is_mapped(name)]
            if not left or time.monotonic() - begin > limit_s:
                return left
            time.sleep(0.1)

    def start(self, *arguments, launcher=None, **more):
        command = list(launcher or [OPTIONS.tool, "run"]) + [str(a) for a in arguments]
        more.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.Popen(command, env=self.environment, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, **more)

    def run_job(self, *arguments, timeout=60, **more):
        text = more.pop("input", None)
        if text is not None:
            more["stdin"] = subprocess.PIPE
        job = self.start(*arguments, **more)
        out, err = job.communicate(text, timeout=timeout)
        return job.returncode, out, err

    def start_staying(self, how, ranks, nodes, launcher=None, **more):
        """A job whose ranks wait for what happens; returns it and the ranks' process numbers. `more` goes to Popen."""
        arguments = ["-n", ranks] + (["--nodes", nodes] if launcher is None else [])
        if launcher is not None:
            self.environment["GRAPNEL_NODES"] = str(nodes)
        job = self.start(*arguments, OPTIONS.probe, "stay", how, launcher=launcher, **more)
        ranks_of = {}
        while len(ranks_of) < ranks:
            line = job.stdout.readline()
            if not line:
                self.fail(f"the job ended early: {job.communicate()[1]}")
            match = re.fullmatch(r"ready (\d+) (\d+)\n", line)
            if match:
                ranks_of[int(match[1])] = int(match[2])
        return job, ranks_of

    def finish(self, job, limit_s=5):
        """Everything has to be over in that time; answers the exit code and stderr. `rest`: what was left of stdout."""
        begin = time.monotonic()
        try:
            self.rest, err = job.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            self.fail(f"still there after {limit_s} s: {marked_processes(self.mark)}")
        self.wait_for_the_ends(begin + limit_s - time.monotonic())
        return job.returncode, err

    def wait_for_the_ends(self, limit_s=5):
        """Until every process of the job is gone."""
        begin = time.monotonic()
        while marked_processes(self.mark) and time.monotonic() - begin < limit_s:
            time.sleep(0.01)
        self.assertEqual(marked_processes(self.mark), [], f"still there after {limit_s} s")

    def remove_what_mpirun_left(self):
        # Open MPI leaves its session folder and its shared memory behind when a job dies; nothing of ours may be there.
        for name in os.listdir(self.folder):
            path = os.path.join(self.folder, name)
            if name.startswith(("vader_segment.", "sm_segment.")):  # of Open MPI 4, of 5
                os.unlink(path)
            else:
                self.assertTrue(name.startswith(("ompi.", "prterun.", "prte.", "pmix-", "dstore")), name)
                shutil.rmtree(path)


def main(parser):
    _, rest = parser.parse_known_args(namespace=OPTIONS)
    skips.main(rest)
