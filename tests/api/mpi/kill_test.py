# SPDX-License-Identifier: Apache-2.0
"""kill -9 of a rank in calls of a taken window ends the job within 5 s, and nothing is left of it.
The launcher has one message; where the library is quicker it has one, too, which names the rank (docs/launch.md).

kill_test.py --program BIN/mpi_staying --library LIB/libgrapnel-mpi.so --launcher BIN/mpiexec [--kills 20] [--seed N]
             [unittest arguments]
--kills: of each kind of call.
"""
import argparse
import os
import random
import re
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "launch"))
import jobs  # noqa: E402
from jobs import OPTIONS  # noqa: E402
from mpi_test import with_options  # noqa: E402

SHAPES = ((2, 1), (2, 2), (3, 2), (4, 2))
# Open MPI names the rank. Hydra names the first process of those that it has killed itself, often another one.
NAMES_RANK = re.compile(r"process rank (\d+) with PID \d+ on node \S+ exited on signal 9")
HYDRA = "BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES"
# What survivors report of locks that the dead rank held (docs/locks.md): beside the message.
LOCKS = re.compile(r"^grapnel\[[^\]]*\] error: .*\block \d+ of rank \d+ \(.*\n", re.MULTILINE)


class Kill(jobs.Case):
    def setUp(self):
        super().setUp()
        self.environment["LD_PRELOAD"] = OPTIONS.library

    def one_kill(self, way, ranks, nodes, victim, delay_s):
        job, ranks_of = self.start_staying(way, ranks, nodes, with_options(OPTIONS.launcher))
        time.sleep(delay_s)
        os.kill(ranks_of[victim], signal.SIGKILL)
        code, err = self.finish(job)
        self.remove_what_mpirun_left()
        self.assertNotEqual(code, 0, err)
        err = LOCKS.sub("", err) + self.rest  # hydra's message is on stdout
        launchers = NAMES_RANK.findall(" ".join(err.split()))
        self.assertLessEqual(len(launchers) + err.count(HYDRA), 1, err)
        self.assertEqual(set(launchers) - {str(victim)}, set(), err)
        ours = [line for line in err.splitlines() if line.startswith("grapnel")]
        self.assertLessEqual(len(ours), 1, err)
        if ours:
            self.assertRegex(ours[0], rf"\brank {victim}\b")
        self.assertTrue(launchers or HYDRA in err or ours, err)

    def kills_in(self, way):
        seed = OPTIONS.seed if OPTIONS.seed is not None else random.randrange(1 << 32)
        print(f"kills in {way}: --seed {seed} --kills {OPTIONS.kills}", file=sys.stderr)
        dice = random.Random(seed)
        for number in range(OPTIONS.kills):
            ranks, nodes = dice.choice(SHAPES)
            victim = dice.randrange(ranks)
            with self.subTest(number=number, seed=seed, ranks=ranks, nodes=nodes, victim=victim):
                self.one_kill(way, ranks, nodes, victim, dice.random() * 0.2)

    def test_in_a_lock(self):
        self.kills_in("lock")

    def test_in_a_fence(self):
        self.kills_in("fence")

    def test_in_a_get(self):
        self.kills_in("get")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--program", dest="probe", required=True)
    parser.add_argument("--library", required=True)
    parser.add_argument("--launcher", required=True)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int)
    jobs.main(parser)
