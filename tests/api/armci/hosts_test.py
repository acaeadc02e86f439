# SPDX-License-Identifier: Apache-2.0
"""The ARMCI programs on three hosts of a lab, and what a delay between hosts makes of the calls.

MPICH 4.0 often hangs in MPI_Finalize between hosts over TCP, in programs of MPI alone too: a rank that is through waits in a
PMI barrier, where it does not answer those that still close their connections (mended later: pmodels/mpich, pull request
6596). So with MPICH a job may be ended from outside once its program has said that it passed, which is after ARMCI_Finalize.

hosts_test.py --bin BUILD-FOLDER --mpi openmpi|mpich [unittest arguments]
"""

import argparse
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent.parent
sys.path[:0] = [str(ROOT / "tests/lab"), str(ROOT / "tests/harness")]

import skips  # noqa: E402
from laboratory import LAB, SKIPPED, Laboratory, network, skip_unless_permitted  # noqa: E402

HOSTS = 3
OPTIONS = None


class OnHosts(unittest.TestCase):
    """One lab for all tests of a class; after each, nothing of its job is left on any host."""

    words = ()

    @classmethod
    def setUpClass(cls):
        cls.lab = Laboratory(HOSTS, *cls.words, build=OPTIONS.bin)
        cls.addClassCleanup(cls.lab.down)

    def tearDown(self):
        self.assertTrue(self.lab.is_empty_within(5), "processes are left in the hosts")
        left = [path.name for host in self.lab.hosts for path in self.lab.place.shared_memory(host).iterdir()]
        self.assertEqual(left, [], "files are left in the hosts' /dev/shm")

    def run_program(self, name, *arguments, per_host=2, variables=()):
        words = ["--launcher", OPTIONS.mpi, "--per-host", per_host, "--timeout", 100]
        for variable in variables:
            words += ["--env", variable]
        words += ["--", OPTIONS.bin / f"tests/armci_{name}", *arguments]
        job = subprocess.Popen([LAB, "run", "--lab", *map(str, [self.lab.number, *words])], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        output = ""
        with job.stdout:
            for line in job.stdout:
                output += line
                if OPTIONS.mpi == "mpich" and line.startswith("passed: "):
                    return self.end_of_mpich(job), output
            return job.wait(), output

    @staticmethod
    def end_of_mpich(job):
        try:
            job.communicate(timeout=3)
            return job.returncode
        except subprocess.TimeoutExpired:
            job.terminate()
            job.communicate()
            return 0

    def passes(self, name, *arguments, **more):
        code, output = self.run_program(name, *arguments, **more)
        self.assertEqual(code, 0, output)
        self.assertIn("passed: ", output)
        return output


class Programs(OnHosts):
    def test_every_program_sees_three_nodes_and_passes(self):
        for name in ("transfers", "nonblocking", "atomics", "order", "completion", "memory", "refusals", "groups",
                     "messages", "twin", "threads"):
            with self.subTest(program=name):
                self.assertIn("passed: 6 ranks, 3 nodes", self.passes(name))

    def test_virtual_nodes_of_each_host(self):
        self.assertIn("passed: 6 ranks, 6 nodes", self.passes("order", variables=["GRAPNEL_NODES=2"]))

    def test_ways_to_start(self):
        if OPTIONS.mpi == "mpich":
            self.skipTest("these programs say that they passed after MPI_Finalize, in which MPICH may hang")
        for way in ("alone", "counted", "comm", "forgotten", "messages"):
            with self.subTest(way=way):
                self.assertIn("passed: 6 ranks", self.passes("start", way))

    def test_much_of_everything(self):
        self.passes("volume", 300, 50, 5000)

    def test_a_mistake_ends_the_job_on_all_hosts(self):
        for mistake, said in (("error", "the program says so"), ("lock", "ARMCI_Lock: mutex 5")):
            with self.subTest(mistake=mistake):
                code, output = self.run_program("fatal", mistake)
                self.assertNotEqual(code, 0)
                self.assertIn(said, output)


class Delay(OnHosts):
    words = ("--delay", "1ms")

    def test_calls_take_as_many_round_trips_as_they_should(self):
        print(self.passes("round_trips", per_host=1))


def main():
    global OPTIONS
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=lambda text: Path(text).resolve(), required=True, help="the build folder")
    parser.add_argument("--mpi", choices=["openmpi", "mpich"], required=True)
    OPTIONS, rest = parser.parse_known_args()
    skip_unless_permitted()
    if not network.kernel_has_netem() and not Path("/dev/net/tun").exists():
        print("skipped: there is neither netem nor /dev/net/tun")
        sys.exit(SKIPPED)
    skips.main(rest)


if __name__ == "__main__":
    main()
