"""kill -9 of any rank, a node's leader or the launcher, while the job works: the launcher's test with a busy runtime.

kill_test.py --tool BIN/grapnel --probe BIN/runtime_probe [--kills 15] [--seed N] [unittest arguments]
"""
import os
import random
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "launch"))
import run_test  # noqa: E402

WAYS = ("barrier", "put", "get", "atomic", "accumulate", "lock", "allocate", "group", "notify", "signal", "compute")


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


def load_tests(loader, _tests, _pattern):
    return loader.loadTestsFromName("BusyKill.test_random_kills", sys.modules[__name__])


if __name__ == "__main__":
    run_test.main()
