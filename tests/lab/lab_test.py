# SPDX-License-Identifier: Apache-2.0
"""The lab as its users meet it: hosts, delay, jobs by every launcher, and kill -9 of anything.

lab_test.py --bin BUILD-FOLDER [unittest arguments]
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

from laboratory import LAB, MPIS, Laboratory, lab, skip_unless_permitted
from network import kernel_has_netem
from place import Place, processes_in, same_process

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "harness"))
import skips  # noqa: E402

BUILD = None
HOSTS = 3


class WithLab(unittest.TestCase):
    """One lab for all tests of a class."""

    words = ()

    @classmethod
    def setUpClass(cls):
        cls.lab = Laboratory(HOSTS, *cls.words, build=BUILD)
        cls.addClassCleanup(cls.lab.down)

    def tearDown(self):
        self.assertTrue(self.lab.is_empty_within(5), "processes are left in the hosts")
        self.assertEqual(list(self.lab.place.runs.glob("*")), [], "files of a run are left")

    def job(self, *words):
        done = self.lab.run(*words)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    # The shortest of many: what the wire takes. The others also show how late this machine wakes its threads.
    def least_round_trip_us(self):
        server = self.lab.start("exec", "h1", "--", "python3", HERE / "round_trip.py", "serve")
        try:
            self.assertEqual(server.stdout.readline(), "serving\n")
            measure = ["python3", HERE / "round_trip.py", self.lab.place.address(1)]
            client = lab("exec", "--lab", self.lab.number, "h0", "--", *measure)
            self.assertEqual(client.returncode, 0, client.stderr)
            return float(client.stdout)
        finally:
            server.kill()
            server.communicate()


class Hosts(WithLab):
    def test_hosts_differ_in_all_that_makes_a_machine(self):
        show = "hostname; cat /proc/sys/kernel/random/boot_id; readlink /proc/self/ns/net; ls /sys/class/net"
        answers = [lab("exec", "--lab", self.lab.number, f"h{i}", "--", "sh", "-c", show) for i in range(HOSTS)]
        seen = [answer.stdout.split() for answer in answers]
        for column in range(3):
            self.assertEqual(len({words[column] for words in seen}), HOSTS, seen)
        for index, words in enumerate(seen):
            self.assertEqual(words[0], self.lab.hosts[index])
            self.assertEqual(words[3:], ["eth0", "lo"])

    def test_shared_memory_is_the_hosts_own(self):
        script = "test ! -e /dev/shm/mark || exit 1; touch /dev/shm/mark; test $(ls /dev/shm | wc -l) = 1"
        for host in ("h0", "h1"):
            self.assertEqual(lab("exec", "--lab", self.lab.number, host, "--", "sh", "-c", script).returncode, 0)
        self.assertFalse(os.path.exists("/dev/shm/mark"))

    def test_exit_code_and_words_arrive_as_they_are(self):
        done = lab("exec", "--lab", self.lab.number, "h2", "--", "sh", "-c", 'echo "$1"; exit 7', "name", "it's  $HOME")
        self.assertEqual((done.returncode, done.stdout), (7, "it's  $HOME\n"))

    def test_without_a_delay_a_round_trip_is_short(self):
        self.assertLess(self.least_round_trip_us(), 500)

    def test_a_second_up_replaces_the_first_and_refuses_while_a_job_runs(self):
        job = self.lab.start("run", "--launcher", MPIS[0], "-n", 1, "--", "sh", "-c", "echo here; exec sleep 60")
        self.assertEqual(job.stdout.readline(), "here\n")
        refused = lab("up", 2, "--lab", self.lab.number)
        job.terminate()
        job.communicate()
        self.assertEqual(refused.returncode, 1)
        self.assertIn("jobs run in lab", refused.stderr)


class Jobs(WithLab):
    def test_every_launcher_reaches_every_host(self):
        for launcher in (*MPIS, "grapnel"):
            with self.subTest(launcher=launcher):
                tool = ["--grapnel", BUILD / "bin/grapnel"] if launcher == "grapnel" else []
                out = self.job("--launcher", launcher, "--per-host", 2, *tool, "--", "hostname")
                self.assertEqual(sorted(out.split()), sorted(2 * self.lab.hosts))

    def test_ranks_spread_and_settings_arrive(self):
        os.environ["GRAPNEL_OF_THE_TEST"] = "a b"
        self.addCleanup(os.environ.pop, "GRAPNEL_OF_THE_TEST")
        os.environ["ARMCI_OF_THE_TEST"] = "c"
        self.addCleanup(os.environ.pop, "ARMCI_OF_THE_TEST")
        for launcher in (*MPIS, "grapnel"):
            show = 'echo "$(hostname) $GRAPNEL_OF_THE_TEST $ARMCI_OF_THE_TEST $MORE"'
            words = ["--launcher", launcher, "--grapnel", BUILD / "bin/grapnel", "-n", 4, "--env", "MORE=1 2"]
            out = self.job(*words, "--", "sh", "-c", show)
            self.assertEqual(sorted(out.splitlines()),
                             [f"{self.lab.hosts[i]} a b c 1 2" for i in (0, 0, 1, 1)])

    def test_a_grapnel_program_sees_three_nodes(self):
        for launcher in (*MPIS, "grapnel"):
            tool = ["--grapnel", BUILD / "bin/grapnel"]
            out = self.job("--launcher", launcher, "--per-host", 2, *tool, "--", BUILD / "bin/first")
            received = sorted(re.findall(r"rank (\d) of 6 on node (\d) received (\d+)", out))
            self.assertEqual(received, [(str(r), str(r // 2), str(100 + (r - 1) % 6)) for r in range(6)])

    def test_a_bridge_of_the_same_address_on_every_host_is_left_out(self):
        def on_each(script):
            for index in range(HOSTS):
                lab("exec", "--lab", self.lab.number, f"h{index}", "--", "sh", "-c", script)

        self.addCleanup(on_each, "ip link del docker0")
        on_each("ip link add docker0 type veth peer name p0 && ip addr add 172.17.0.1/16 dev docker0 && "
                "ip link set docker0 up && ip link set p0 up")
        out = self.job("--launcher", MPIS[0], "--per-host", 1, "--", BUILD / "bin/first")
        self.assertEqual(len(re.findall(r"rank \d of 3 on node \d received", out)), 3, out)

    def test_every_promise_of_a_launch_holds_across_hosts(self):
        for launcher in MPIS:  # PMIx by Open MPI, PMI-1 by hydra
            out = self.job("--launcher", launcher, "--per-host", 2, "--", BUILD / "tests/launch_probe", "check")
            self.assertEqual(len(re.findall(r"probe ok rank \d of 6 node \d of 3", out)), 6, out)

    def test_virtual_nodes_of_a_host_use_its_network_too(self):
        job = ["--per-host", 2, "--env", "GRAPNEL_NODES=2", "--env", "UCX_LOG_LEVEL=info", "--", BUILD / "bin/first"]
        done = self.lab.run("--launcher", MPIS[0], *job)
        nodes = re.findall(r"rank (\d) of 6 on node \1 received", done.stdout)
        self.assertEqual(len(nodes), 6, done.stdout + done.stderr)
        devices = re.findall(r"cfg(?:\[\d+\]:|#\d+) am\((\S+)\)", done.stdout + done.stderr)
        self.assertEqual(set(devices), {"tcp/eth0"})

    def test_the_factorization_is_right_across_hosts(self):
        lu = [BUILD / "bin/lu", "--n", 256, "--block", 32, "--dist", "node", "--verify"]
        self.assertIn("lu: PASS", self.job("--launcher", MPIS[0], "--per-host", 2, "--", *lu))

    def test_the_exit_code_is_the_jobs(self):
        for launcher in MPIS:
            self.assertEqual(self.lab.run("--launcher", launcher, "-n", 1, "--", "sh", "-c", "exit 5").returncode, 5)
        self.assertEqual(self.lab.run("--launcher", MPIS[0], "--timeout", 1, "--", "sleep", "60").returncode, 124)


class Kills(WithLab):
    """Each with a job whose ranks have children that left session and group."""

    ranks = "trap '' TERM; setsid sh -c 'trap \"\" TERM HUP INT; sleep 60; sleep 60' & echo ready; wait; sleep 60"

    def start_job(self, launcher):
        job = self.lab.start("run", "--launcher", launcher, "--per-host", 2, "--", "sh", "-c", self.ranks,
                             start_new_session=True)
        for _ in range(2 * HOSTS):
            self.assertEqual(job.stdout.readline(), "ready\n", "the job did not start")
        return job

    def expect_end(self, job):
        """Stderr and stdout close when the last process that holds them is gone."""
        job.communicate(timeout=20)
        self.assertTrue(self.lab.is_empty_within(5), "processes are left in the hosts")
        self.assertEqual(self.children_of(job.pid), [])

    def tearDown(self):
        # A run that was killed by SIGKILL leaves its folder; the next one removes it.
        self.job("--launcher", MPIS[0], "-n", 1, "--", "true")
        super().tearDown()

    @staticmethod
    def children_of(process):
        done = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process)], capture_output=True, text=True, check=False)
        return done.stdout.split()

    def each(self, act):
        for launcher in MPIS:
            with self.subTest(launcher=launcher):
                job = self.start_job(launcher)
                self.addCleanup(job.kill)
                act(job)
                self.expect_end(job)

    def test_kill_9_of_the_run(self):
        self.each(lambda job: job.kill())

    def test_kill_9_of_the_launcher(self):
        self.each(lambda job: os.kill(int(self.children_of(job.pid)[0]), signal.SIGKILL))

    def test_kill_9_of_everything_on_one_host(self):
        def act(_job):
            for process in processes_in(self.lab.hosts[1]):
                try:
                    os.kill(process, signal.SIGKILL)
                except ProcessLookupError:
                    pass

        self.each(act)

    def test_ctrl_c_of_a_terminal(self):
        self.each(lambda job: os.killpg(job.pid, signal.SIGINT))

    def test_terminated(self):
        self.each(lambda job: job.terminate())


def processor_ticks(process):
    return sum(map(int, Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[11:13]))


def require_tap_devices():
    if not os.path.exists("/dev/net/tun"):
        raise unittest.SkipTest("there is no /dev/net/tun, which the delay line needs")


class Delay(WithLab):
    words = ("--delay", "1ms")

    @classmethod
    def setUpClass(cls):
        if not kernel_has_netem():
            require_tap_devices()
        super().setUpClass()

    def test_a_round_trip_takes_two_delays(self):
        least = self.least_round_trip_us()
        self.assertGreaterEqual(least, 2000)
        self.assertLess(least, 3000)

    def test_jobs_run_and_the_wire_sleeps(self):
        out = self.job("--launcher", MPIS[0], "--per-host", 2, "--", BUILD / "bin/first")
        self.assertEqual(len(out.splitlines()), 6)
        line = self.lab.place.record()["delay_line"]
        if line is None:
            return  # the kernel does it
        before = processor_ticks(line[0])
        time.sleep(1)
        self.assertLessEqual(processor_ticks(line[0]) - before, 2, "the delay line works while nobody sends")


class Removal(unittest.TestCase):
    def made(self, *words):
        one = Laboratory(HOSTS, *words, build=BUILD)
        self.addCleanup(one.down)
        return one

    def assert_gone(self, number):
        place = Place(number)
        self.assertEqual((place.exists(), place.namespaces(), place.devices()), (False, [], []))

    def test_down_ends_jobs_and_removes_all(self):
        one = self.made()
        job = one.start("run", "--launcher", MPIS[0], "--", "sh", "-c", "setsid sleep 60 & echo ready; sleep 60")
        self.assertEqual(job.stdout.readline(), "ready\n")
        one.down()
        job.communicate(timeout=10)
        self.assert_gone(one.number)

    def test_the_line_ends_with_the_lab_and_a_lab_without_its_line_says_so(self):
        require_tap_devices()
        one = self.made("--delay", "100us", "--wire", "line")
        line = one.place.record()["delay_line"]
        self.assertTrue(same_process(line))
        os.kill(line[0], signal.SIGKILL)
        time.sleep(0.2)
        self.assertIn("delay line is gone", one.run("--", "true").stderr)
        one.down()
        self.assert_gone(one.number)
        two = self.made("--delay", "100us", "--wire", "line")
        line = two.place.record()["delay_line"]
        two.down()
        self.assertFalse(same_process(line))
        self.assert_gone(two.number)

    def test_up_cleans_what_a_crash_left(self):
        one = self.made()
        stray = one.start("exec", "h0", "--", "sh", "-c", "echo ready; exec sleep 60")
        self.assertEqual(stray.stdout.readline(), "ready\n")
        one.place.record_file.unlink()  # as if `up` had died halfway
        self.assertIn("remains of a crash", lab("status").stdout)
        again = lab("up", 1, "--lab", one.number)
        self.assertEqual(again.returncode, 0, again.stderr)
        stray.communicate(timeout=5)
        self.assertEqual(one.place.namespaces(), one.hosts[:1])

    def test_kill_9_of_up_itself(self):
        one = self.made()
        for moment_s in (0.1, 0.3, 0.6):
            up = subprocess.Popen([LAB, "up", "40", "--lab", str(one.number)], stdout=subprocess.DEVNULL)
            time.sleep(moment_s)
            up.kill()
            up.wait()
            again = lab("up", 1, "--lab", one.number)
            self.assertEqual(again.returncode, 0, again.stderr)
            self.assertEqual(one.place.namespaces(), one.hosts[:1])
            self.assertEqual(one.place.devices(), [one.place.front_device, one.place.port(0)])

    def owned(self):
        """A process, and a lab that is its."""
        owner = subprocess.Popen(["sleep", "60"])
        self.addCleanup(owner.wait)
        self.addCleanup(owner.kill)
        made = lab("up", 1, "--lab", "free", "--owner", owner.pid)
        return owner, Place(int(made.stdout.split(":")[0].removeprefix("lab ")))

    def is_removed_within(self, place, owner, limit_s):
        """With all that is its; another's lab may have the number by then."""
        end = time.monotonic() + limit_s
        while True:
            record = place.record()
            if (record is None and not place.exists()) or (record and record["owner"] != owner):
                return True
            if time.monotonic() >= end:
                return False
            time.sleep(0.02)

    def test_a_lab_goes_with_its_owner(self):
        owner, place = self.owned()
        identity = place.record()["owner"]
        self.assertTrue(place.shared_memory_folders())
        owner.kill()
        owner.wait()
        self.assertTrue(self.is_removed_within(place, identity, 10))

    def test_a_lab_whose_remover_was_killed_goes_with_the_next_up(self):
        owner, place = self.owned()
        identity = place.record()["owner"]
        removers = subprocess.run(["pgrep", "-f", f"up 1 .*--owner {owner.pid}$"], capture_output=True, text=True,
                                  check=True).stdout.split()
        self.assertEqual(len(removers), 1)
        os.kill(int(removers[0]), signal.SIGKILL)
        owner.kill()
        owner.wait()
        self.assertFalse(self.is_removed_within(place, identity, 0.5))
        self.made()  # this one, or another's, may have the number now
        self.assertTrue(self.is_removed_within(place, identity, 0))

    def test_nothing_else_is_touched(self):
        stranger = f"other-{os.getpid()}"
        subprocess.run(["ip", "netns", "add", stranger], check=True)
        self.addCleanup(subprocess.run, ["ip", "netns", "del", stranger], check=True)
        inside = subprocess.Popen(["ip", "netns", "exec", stranger, "sleep", "60"])
        self.made().down()
        self.assertIsNone(inside.poll())
        inside.kill()
        inside.wait()

    def test_mistakes_are_named(self):
        for words, text in [
            (["up", "0"], "number from 1"),
            (["up", "2", "--delay", "5"], "no delay"),
            (["up", "2", "--delay", "11s"], "no delay"),
            (["up", "2", "--lab", "200"], "number from 0"),
            (["run", "--lab", "199", "--", "true"], "there is no lab 199"),
            (["run", "--timeout", "-1", "--", "true"], "no number of seconds"),
            (["run", "--timeout", "nan", "--", "true"], "no number of seconds"),
            (["run", "--lab", "199", "--", "true", "--launcher"], "there is no lab 199"),
        ]:
            done = lab(*words)
            self.assertNotEqual(done.returncode, 0, words)
            self.assertIn(text, done.stderr)
        one = self.made()
        for host in ("foo", "h3", "glab0-h0x"):
            self.assertIn(f"has no host '{host}'", lab("exec", "--lab", one.number, host, "--", "true").stderr)
        self.assertIn("do not fit", one.run("-n", 9, "--per-host", 2, "--", "true").stderr)
        if not kernel_has_netem():
            self.assertIn("no netem", lab("up", 2, "--lab", one.number, "--delay", "1ms", "--wire", "bridge").stderr)


def main():
    global BUILD
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=Path, required=True, help="the build folder")
    options, rest = parser.parse_known_args()
    BUILD = options.bin.resolve()
    skip_unless_permitted()
    skips.main(rest)


if __name__ == "__main__":
    main()
