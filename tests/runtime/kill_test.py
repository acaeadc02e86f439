# SPDX-License-Identifier: Apache-2.0
"""kill -9 of any rank, a node's leader or the launcher, while the job works, begins or ends: the launcher's test with a
busy runtime.

kill_test.py --tool BIN/grapnel --probe BIN/runtime_probe [--kills 15] [--seed N] [unittest arguments]
"""
import os
import random
import re
import shutil
import signal
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "launch"))
import run_test  # noqa: E402

WAYS = ("mix", "barrier", "put", "get", "atomic", "accumulate", "lock", "allocate", "group", "notify", "signal", "compute")


class BusyKill(run_test.Kill):
    """Inherits one_kill; the inherited cases belong to the launcher's own probe."""

    # What the survivors say of locks that the dead rank held (docs/locks.md): beside the launcher's message.
    LOCKS = re.compile(r"^grapnel\[[^\]]*\] error: .*\block \d+ of rank \d+ \(.*\n", re.MULTILINE)

    def of_the_launcher(self, err):
        return self.LOCKS.sub("", super().of_the_launcher(err))

    def test_random_kills(self):
        options = run_test.OPTIONS
        seed = options.seed if options.seed is not None else random.randrange(1 << 32)
        print(f"random kills: --seed {seed} --kills {options.kills}", file=sys.stderr)
        dice = random.Random(seed)
        for number in range(options.kills):
            ranks = dice.choice((2, 3, 5, 8))
            nodes = dice.choice([n for n in (1, 2, 3) if n <= ranks])
            victim = dice.choice(list(range(ranks)) + [0, "front", "back"])  # 0 runs its node's server
            how = dice.choice(WAYS)
            with self.subTest(number=number, seed=seed, how=how, ranks=ranks, nodes=nodes, victim=victim):
                self.one_kill(how, ranks, nodes, victim, dice.random() * 0.2)

    def test_native_transfers(self):
        """The target's leader, whose memory the adapter reads and writes, and an origin. For slow guests with such a device."""
        for how, victim in (("put", 2), ("get", 2), ("put", 0), ("mix", 1)):
            with self.subTest(how=how, victim=victim):
                self.one_kill(how, 3, 2, victim, 1.0, limit_s=20)

    def test_a_rank_that_ends_well_without_leaving(self):
        for ranks, nodes in ((2, 1), (2, 2), (3, 3), (5, 2)):
            with self.subTest(ranks=ranks, nodes=nodes):
                job = self.start("-n", ranks, "--nodes", nodes, "--", run_test.OPTIONS.probe, "abandon")
                code, err = self.finish(job)
                self.assertNotEqual(code, 0, err)
                told = [line for line in err.splitlines() if line.startswith("grapnel run:")]
                self.assertEqual(len(told), 1, err)
                self.assertRegex(told[0], r"rank 0 exited with code 0 but did not leave the job; the job ends$")

    def test_the_same_under_other_launchers(self):
        for name, more in (("mpiexec.mpich", []), ("mpirun.openmpi", ["--oversubscribe"])):
            launcher = shutil.which(name)
            if launcher is None:
                print(f"skipped: a rank that ends well without leaving, under {name}: it is not here", file=sys.stderr)
                continue
            for ranks, nodes in ((2, 1), (3, 3)):
                with self.subTest(launcher=name, ranks=ranks, nodes=nodes):
                    self.environment["GRAPNEL_NODES"] = str(nodes)
                    job = self.start("-n", ranks, run_test.OPTIONS.probe, "abandon", launcher=[launcher] + more)
                    code, err = self.finish(job)
                    self.assertNotEqual(code, 0, err)
                    self.assertRegex(err, r"rank 0 ended without leaving the job|process rank 0 .*|rank 0 died")
                    self.remove_what_mpirun_left()

    def test_a_node_whose_processes_are_stopped(self):
        """No process ends, so that only the missing heartbeat shows it."""
        self.environment["GRAPNEL_HEARTBEAT_MS"] = "200"
        for how in ("mix", "barrier"):
            with self.subTest(how=how):
                job, ranks_of = self.start_staying(how, 5, 2)
                time.sleep(0.5)
                for rank in (3, 4):
                    os.kill(ranks_of[rank], signal.SIGSTOP)
                code, err = self.finish(job, 10)
                self.assertNotEqual(code, 0, err)
                self.assertRegex(err, r"lost host \S+ \(node 1, ranks 3 to 4\): no heartbeat from its server")

    def test_ranks_that_come_and_go(self):
        dice = random.Random(run_test.OPTIONS.seed)
        endings = []
        whole = {}  # how long such a job takes when no rank is killed: it differs tenfold between machines
        for number in range(2 * run_test.OPTIONS.kills):
            ranks = dice.choice((2, 3, 5))
            nodes = dice.choice((1, 2))
            with self.subTest(number=number, ranks=ranks, nodes=nodes):
                if (ranks, nodes) not in whole:
                    whole[ranks, nodes] = self.seconds_of_a_job(ranks, nodes)
                job = self.start("-n", ranks, "--nodes", nodes, "--", run_test.OPTIONS.probe, "leave")
                time.sleep(dice.random() * whole[ranks, nodes])
                killed = self.kill_a_rank(job, dice)
                code, err = self.finish(job)
                endings.append(code)
                if code == 0:  # it had come to its end before
                    continue
                self.assertTrue(killed)
                told = [line for line in err.splitlines() if line.startswith("grapnel run:")]
                self.assertEqual(len(told), 1, err)
                self.assertRegex(told[0], r"rank \d+ was killed by signal 9 \(Killed\); the job ends$", err)
        self.assertTrue(any(endings), "each job was over before its kill")

    def seconds_of_a_job(self, ranks, nodes):
        began = time.monotonic()
        code, err = self.finish(self.start("-n", ranks, "--nodes", nodes, "--", run_test.OPTIONS.probe, "leave"))
        self.assertEqual(code, 0, err)
        return time.monotonic() - began

    def kill_a_rank(self, job, dice):
        """Whether one was there."""
        try:
            rank = dice.choice(self.children_of(self.children_of(job.pid)[0]))
            os.kill(rank, signal.SIGKILL)
        except (OSError, IndexError):
            return False
        return True


def load_tests(loader, _tests, _pattern):
    names = ("test_random_kills", "test_ranks_that_come_and_go", "test_a_rank_that_ends_well_without_leaving",
             "test_the_same_under_other_launchers", "test_a_node_whose_processes_are_stopped")
    return loader.loadTestsFromNames([f"BusyKill.{name}" for name in names], sys.modules[__name__])


if __name__ == "__main__":
    run_test.main()
