# SPDX-License-Identifier: Apache-2.0
"""Jobs after one another in the same processes, under each launcher that is here.

restart_test.py --tool BIN/grapnel --probe BIN/runtime_restarts [--restarts 50] [--seed N] [unittest arguments]
"""
import argparse
import os
import random
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "launch"))
import jobs  # noqa: E402
from jobs import OPTIONS, Case  # noqa: E402


class Restarts(Case):
    def launchers(self):
        yield "grapnel run", [OPTIONS.tool, "run"]
        for name, more in (("mpirun.openmpi", ["--oversubscribe"]), ("prterun", ["--map-by", ":oversubscribe"]),
                           ("mpiexec.mpich", [])):
            path = shutil.which(name)
            if path is None:
                print(f"skipped: restarts under {name}: it is not here", file=sys.stderr)
            else:
                yield name, [path] + more

    def restart(self, launcher, ranks, nodes, count, seed):
        self.environment["GRAPNEL_NODES"] = str(nodes)
        code, out, err = self.run_job("-n", ranks, OPTIONS.probe, count, seed, launcher=launcher, timeout=600)
        self.assertEqual(code, 0, out + err)
        ended = sorted(re.findall(r"^restarts ok (\d+) (\d+) (\d+)$", out, re.M))
        self.assertEqual(ended, sorted((str(rank), str(ranks), str(count)) for rank in range(ranks)), out + err)

    def test_restarts(self):
        seed = OPTIONS.seed if OPTIONS.seed is not None else random.randrange(1, 1 << 31)
        print(f"restarts: --seed {seed} --restarts {OPTIONS.restarts}", file=sys.stderr)
        dice = random.Random(seed)
        for name, launcher in self.launchers():
            # Between nodes a start costs ten times as much.
            for share, most_ranks, nodes in ((4, 8, 1), (1, 5, 2)):
                left = OPTIONS.restarts * share // 5
                while left > 0:
                    ranks, count = dice.randint(nodes, most_ranks), min(left, 100)
                    with self.subTest(launcher=name, ranks=ranks, nodes=nodes, count=count, seed=seed):
                        self.restart(launcher, ranks, nodes, count, dice.choice((0, dice.randrange(1, 1 << 20))))
                    left -= count


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--tool", required=True)
    arguments.add_argument("--probe", required=True)
    arguments.add_argument("--restarts", type=int, default=50)
    arguments.add_argument("--seed", type=int)
    jobs.main(arguments)
