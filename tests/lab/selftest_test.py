# SPDX-License-Identifier: Apache-2.0
"""`grapnel selftest` on the hosts of a lab: by --hosts, as the ranks of a launcher, and with a way between hosts blocked.

selftest_test.py --bin BUILD-FOLDER [--all] [unittest arguments]; without --all not as the ranks of launchers.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from laboratory import MPIS, Laboratory, skip_unless_permitted

import launchers

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "harness"))
import skips  # noqa: E402

BUILD = None
ALL = False
HOSTS = 3
LIMIT_S = 60
LAUNCHER = {"openmpi": "mpirun.openmpi", "mpich": "mpiexec.hydra"}


class Selftest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = Laboratory(HOSTS, build=BUILD)
        cls.addClassCleanup(cls.lab.down)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.json = self.folder / "selftest.json"

    def tearDown(self):
        self.assertTrue(self.lab.is_empty_within(10), "processes are left in the hosts")

    def on_hosts(self, launcher=MPIS[0]):
        """The command on this machine, which is no host, as a user has it on a login node."""
        ranks = 2 * HOSTS
        environment = dict(os.environ, **launchers.settings(self.lab.place, self.folder, ranks))
        command = [BUILD / "bin/grapnel", "selftest", "--hosts", ",".join(f"{host}:2" for host in self.lab.hosts),
                   "--launcher", LAUNCHER[launcher], "--json", self.json]
        begin = time.monotonic()
        done = subprocess.run(command, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=LIMIT_S, check=False)
        print(f"{self.id()}: {time.monotonic() - begin:.1f} s", file=sys.stderr)
        return done, json.loads(self.json.read_text())

    def check_good(self, done, report):
        """A busy machine is slow, but nothing on it is wrong."""
        wrong = [row for row in report["rows"] if row["verdict"] == "wrong"]
        self.assertEqual(wrong, [], done.stdout + done.stderr)
        self.assertEqual(report["nodes"], HOSTS)
        self.assertEqual(done.returncode, 0 if report["verdict"] == "good" else 1, done.stderr)
        where = {row["where"] for row in report["rows"] if row["section"] == "operations"}
        self.assertLessEqual({"inside a node", "between nodes", "all ranks"}, where)
        transport = next(row for row in report["rows"] if row["name"] == "transport")
        self.assertRegex(transport["found"], r"^ucx .*several machines")
        addresses = [row for row in report["rows"] if row["name"] == "addresses"]
        self.assertEqual(len(addresses), HOSTS)  # each has its own
        for row in addresses:
            self.assertRegex(row["found"], rf"^eth0 10\.77\.{self.lab.number}\.1[0-2]/24: in a network of")

    def named_death(self, report):
        row = next(row for row in report["rows"] if row["section"] == "death")
        self.assertEqual(row["verdict"], "good", row)
        return row["found"]

    def test_hosts(self):
        done, report = self.on_hosts()
        self.check_good(done, report)
        self.assertRegex(self.named_death(report), rf"rank {2 * HOSTS - 1} was killed")

    def test_hosts_with_the_other_launcher(self):
        if not ALL:
            self.skipTest("only with --all")
        for launcher in MPIS[1:]:
            with self.subTest(launcher=launcher):
                done, report = self.on_hosts(launcher)
                self.check_good(done, report)
                self.assertRegex(self.named_death(report), rf"rank {2 * HOSTS - 1} was killed")

    def test_as_the_ranks_of_a_launcher(self):
        if not ALL:
            self.skipTest("only with --all")
        for launcher in MPIS:
            with self.subTest(launcher=launcher):
                self.json.unlink(missing_ok=True)
                done = self.lab.run("--launcher", launcher, "--per-host", 2, "--", BUILD / "bin/grapnel", "selftest",
                                    "--json", self.json)
                report = json.loads(self.json.read_text())
                self.check_good(done, report)
                self.named_death(report)

    def block(self, here, there):
        """The launcher reaches both hosts, and what one sends to the other leads nowhere."""
        address = self.lab.place.address(there)
        words = [address, "lladdr", "02:00:00:00:00:99", "dev", "eth0", "nud", "permanent"]
        subprocess.run(["ip", "-n", self.lab.hosts[here], "neigh", "replace", *words], check=True, capture_output=True)
        self.addCleanup(subprocess.run, ["ip", "-n", self.lab.hosts[here], "neigh", "del", address, "dev", "eth0"],
                        check=True, capture_output=True)

    def test_a_blocked_way(self):
        self.block(0, 1)
        self.block(1, 0)
        done, report = self.on_hosts()
        self.assertEqual((done.returncode, report["verdict"]), (1, "wrong"), done.stdout + done.stderr)
        blocked = {row["where"] for row in report["rows"] if row["verdict"] == "wrong"}
        h0, h1 = self.lab.hosts[:2]
        self.assertEqual(blocked, {f"{h0} → {h1}", f"{h1} → {h0}"}, done.stdout)
        for row in report["rows"]:
            if row["verdict"] == "wrong":
                self.assertRegex(row["found"], r"10\.77\.\d+\.1[01] port \d+: no answer within")
                self.assertRegex(row["remedy"], "firewall.*UCX_TCP_PORT_RANGE.*UCX_NET_DEVICES")


def main():
    global BUILD, ALL
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=Path, required=True, help="the build folder")
    parser.add_argument("--all", action="store_true", help="every launcher, in every way")
    options, rest = parser.parse_known_args()
    BUILD = options.bin.resolve()
    ALL = options.all
    skip_unless_permitted()
    skips.main(rest)


if __name__ == "__main__":
    main()
