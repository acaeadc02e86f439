# SPDX-License-Identifier: Apache-2.0
"""Hosts that are lost without a word: cut off, stopped, behind a firewall; and jobs that only look lost.

lost_host_test.py --bin BUILD-FOLDER [--all] [unittest arguments]; without --all two cases with short periods.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from laboratory import MPIS, Laboratory, skip_unless_permitted
from place import processes_in, state_of

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "harness"))
import skips  # noqa: E402

BUILD = None
ALL = False
HOSTS = 3
BEAT_MS = 200  # a lost host is noticed after 6 beats
LIMIT_S = 15


def ranks_on(host):
    """Grapnel's processes on a host that can still run or be stopped."""
    found = []
    for process in processes_in(host):
        try:
            name = Path(f"/proc/{process}/comm").read_text().strip()
        except OSError:
            continue
        if name == "runtime_probe" and state_of(process) not in ("Z", None):
            found.append(process)
    return found


class LostHost(unittest.TestCase):
    def setUp(self):
        short = ("test_cut_off_during_a_barrier", "test_a_firewall_that_drops")
        if not ALL and self._testMethodName not in short:
            self.skipTest("only with --all")

    @classmethod
    def setUpClass(cls):
        cls.lab = Laboratory(HOSTS, build=BUILD)
        cls.addClassCleanup(cls.lab.down)

    def start(self, how, *env, launcher=MPIS[0], per_host=2, hosts=HOSTS):
        words = [word for pair in env for word in ("--env", pair)]
        # What ranks say, by host: the launcher may crash, or have lost the host, before it passes that on.
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.texts = Path(folder.name)
        job = self.lab.start("run", "--launcher", launcher, "--per-host", per_host, "-n", per_host * hosts, *words, "--",
                             "sh", "-c", f'exec "$1" stay {how} 2>>{self.texts}/$(hostname)', "sh",
                             BUILD / "tests/runtime_probe")
        self.addCleanup(self.end, job)
        return job

    def end(self, job):
        if job.poll() is None:
            job.terminate()
        try:
            job.communicate(timeout=20)
        except (subprocess.TimeoutExpired, ValueError):
            job.kill()
        self.assertTrue(self.lab.is_empty_within(10), "processes are left in the hosts")

    def wait_until_ready(self, job, per_host=2):
        for _ in range(per_host * HOSTS):
            self.assertRegex(job.stdout.readline(), r"^ready ")

    def ip(self, host, *words):
        subprocess.run(["ip", *(["-n", host] if host else []), *words], check=True, capture_output=True)

    def wait_until_gone(self, hosts, since, limit_s=LIMIT_S):
        while any(ranks_on(host) for host in hosts):
            self.assertLess(time.monotonic() - since, limit_s, [ranks_on(host) for host in hosts])
            time.sleep(0.05)
        print(f"{self.id()}: all ended after {time.monotonic() - since:.1f} s", file=sys.stderr)

    def sentences(self, *hosts):
        """What the ranks of these hosts said; one of each host speaks at most."""
        texts = []
        for host in hosts:
            path = self.texts / host
            text = path.read_text() if path.exists() else ""
            self.assertLessEqual(text.count("; the job ends"), 1, text)
            self.assertNotIn("backtrace", text)
            texts.append(text)
        return "".join(texts)

    def cut(self, index):
        """The port goes from the bridge: the cable is out, and neither side is told."""
        self.ip(None, "link", "set", self.lab.place.port(index), "nomaster")
        self.addCleanup(self.ip, None, "link", "set", self.lab.place.port(index), "master",
                        self.lab.place.front_device)

    def cut_off(self, how, beat_ms=BEAT_MS):
        job = self.start(how, f"GRAPNEL_HEARTBEAT_MS={beat_ms}")
        self.wait_until_ready(job)
        time.sleep(2 * beat_ms / 1000 + 0.3)
        self.cut(1)
        self.wait_until_gone(self.lab.hosts, time.monotonic())
        h0, h1, h2 = self.lab.hosts
        self.assertRegex(self.sentences(h0, h2), rf"lost host {h1} \(node 1, ranks 2 to 3\): no heartbeat from its server")
        self.assertRegex(self.sentences(h1), rf"host {h1} .* has lost the others: no heartbeat from host")

    def test_cut_off_during_puts(self):
        self.cut_off("put")

    def test_cut_off_during_a_barrier(self):
        self.cut_off("barrier")

    def test_cut_off_with_the_defaults(self):
        for how in ("put", "get", "barrier", "mix", "lock"):
            with self.subTest(how=how):
                try:
                    self.cut_off(how, 1000)
                finally:
                    self.doCleanups()

    def test_a_host_whose_processes_are_all_stopped(self):
        job = self.start("get", f"GRAPNEL_HEARTBEAT_MS={BEAT_MS}")
        self.wait_until_ready(job)
        time.sleep(2 * BEAT_MS / 1000 + 0.3)
        stopped = processes_in(self.lab.hosts[2])
        for process in stopped:
            os.kill(process, signal.SIGSTOP)
        self.wait_until_gone(self.lab.hosts[:2], time.monotonic())
        h0, h1, h2 = self.lab.hosts
        self.assertRegex(self.sentences(h0, h1), rf"lost host {h2} \(node 2, ranks 4 to 5\)")
        for process in stopped:
            try:
                os.kill(process, signal.SIGCONT)
            except ProcessLookupError:
                pass
        self.wait_until_gone(self.lab.hosts, time.monotonic())

    def block(self, refuse):
        """Between the hosts 0 and 1; the launcher reaches both. Refused: by host 2, which claims the address."""
        for here, there in ((0, 1), (1, 0)):
            address = self.lab.place.address(there)
            if refuse:
                self.ip(self.lab.hosts[2], "addr", "add", f"{address}/32", "dev", "lo")
                self.addCleanup(self.ip, self.lab.hosts[2], "addr", "del", f"{address}/32", "dev", "lo")
                shown = subprocess.run(["ip", "-n", self.lab.hosts[2], "-o", "link", "show", "eth0"], check=True,
                                       capture_output=True, text=True).stdout
                link = re.search(r"link/ether (\S+)", shown).group(1)
            else:
                link = "02:00:00:00:00:99"  # nobody's
            self.ip(self.lab.hosts[here], "neigh", "replace", address, "lladdr", link, "dev", "eth0", "nud", "permanent")
            self.addCleanup(self.ip, self.lab.hosts[here], "neigh", "del", address, "dev", "eth0")

    def not_connected(self, refuse):
        self.block(refuse)
        hosts = self.lab.hosts[:2] if refuse else self.lab.hosts
        job = self.start("barrier", "GRAPNEL_CONNECT_MS=2000", per_host=1, hosts=len(hosts))
        # The launcher's own start, which takes seconds on a busy machine, is not what is limited.
        begin = time.monotonic()
        while job.poll() is None and not all(ranks_on(host) for host in hosts):
            self.assertLess(time.monotonic() - begin, 60, "the launcher has not started the ranks")
            time.sleep(0.02)
        begin = time.monotonic()
        try:
            job.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            self.fail("the job did not end by itself")
        print(f"{self.id()}: over after {time.monotonic() - begin:.1f} s", file=sys.stderr)
        self.wait_until_gone(self.lab.hosts, time.monotonic(), 5)
        return self.sentences(*self.lab.hosts)

    def test_a_firewall_that_drops(self):
        text = self.not_connected(refuse=False)
        self.assertRegex(text, r"the connection of (the server of node|rank) \d on host \S+-h[01] to the server on host "
                               r"\S+-h[01] .* was not accepted within 2\S* s\. Check that no firewall .*UCX_NET_DEVICES")

    def test_a_connection_that_is_refused(self):
        text = self.not_connected(refuse=True)
        self.assertRegex(text, r"was not accepted within 2 s")

    def test_a_job_that_is_stopped_and_continued_is_not_lost(self):
        pause_s, beat_ms = 15, 1000
        job = self.start("mix", f"GRAPNEL_HEARTBEAT_MS={beat_ms}")
        self.wait_until_ready(job)
        time.sleep(3 * beat_ms / 1000)
        for number in (signal.SIGSTOP, signal.SIGCONT):
            for host in self.lab.hosts:  # the signals reach hosts at different times
                for process in ranks_on(host):
                    os.kill(process, number)
                time.sleep(beat_ms / 1000)
            time.sleep(pause_s if number == signal.SIGSTOP else 10 * beat_ms / 1000)
        self.assertEqual([len(ranks_on(host)) for host in self.lab.hosts], [2, 2, 2])
        self.assertIsNone(job.poll())

    def test_no_false_alarm_at_load_40(self):
        loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(40)]
        try:
            job = self.start("mix")  # with the defaults
            self.wait_until_ready(job)
            time.sleep(60)
            self.assertEqual([len(ranks_on(host)) for host in self.lab.hosts], [2, 2, 2])
            self.assertIsNone(job.poll())
        finally:
            for loop in loops:
                loop.kill()
                loop.wait()

    def test_the_watch_takes_next_to_nothing_at_rest(self):
        """Ranks that sleep for ever: their servers, with heartbeats once a second."""
        job = self.start("sleep", per_host=1)
        self.wait_until_ready(job, per_host=1)
        time.sleep(2)
        seconds = 20
        before = {rank: processor_ns(rank) for host in self.lab.hosts for rank in ranks_on(host)}
        time.sleep(seconds)
        shares = [100 * (processor_ns(rank) - was) / seconds / 1e9 for rank, was in before.items()]
        print(f"{self.id()}: {', '.join(f'{share:.3f} %' for share in shares)} of a core", file=sys.stderr)
        self.assertLess(min(shares), 0.2)
        self.assertLess(sum(shares) / len(shares), 0.2)


def processor_ns(process):
    """Of all threads; the scheduler's own count, as ticks are too coarse."""
    total = 0
    for thread in Path(f"/proc/{process}/task").iterdir():
        total += int((thread / "schedstat").read_text().split()[0])
    return total


def main():
    global BUILD, ALL
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=Path, required=True, help="the build folder")
    parser.add_argument("--all", action="store_true", help="every case, with the default settings too: minutes")
    options, rest = parser.parse_known_args()
    BUILD = options.bin.resolve()
    ALL = options.all
    skip_unless_permitted()
    skips.main(rest)


if __name__ == "__main__":
    main()
