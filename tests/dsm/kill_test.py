# SPDX-License-Identifier: Apache-2.0
"""kill -9 of a rank of a job with a shared heap: in faults, in releases, where ranks wait for a lock that it holds or for a
condition, and at barriers; with both protocols and both traps.

kill_test.py --tool BIN/grapnel --probe BIN/dsm_probe [--kills 24] [--unseen 3] [--seed N] [unittest arguments]
"""
import argparse
import itertools
import json
import os
import random
import re
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "launch"))
import jobs  # noqa: E402
import run_test  # noqa: E402
from jobs import OPTIONS  # noqa: E402

RANKS, NODES = 5, 3
WAYS = ("fetch", "flush", "contend", "barrier", "step", "hold", "wait", "absent")  # of dsm_probe
WAYS_OF = {"hlrc": WAYS, "lrc": WAYS + ("collect",)}


class HeapKill(run_test.Kill):
    """The inherited cases belong to the launcher's own probe."""

    # What survivors print beside the launcher's message: calls of the probe that failed, and, of locks that the dead rank
    # held or that are waited for, docs/locks.md.
    BESIDE = re.compile(r"^dsm_probe: rank \d+: peer dead: .*\n|^grapnel\[[^\]]*\] error: .*\block \d+ of rank \d+ \(.*\n",
                        re.MULTILINE)

    def traps(self):
        code, out, err = self.run_job("--json", launcher=[OPTIONS.tool, "info"])
        self.assertEqual(code, 0, err)
        heap = next(part["rows"] for part in json.loads(out)["sections"] if part["title"] == "shared heap")
        why_not = next(row["value"] for row in heap if row["what"] == "why not uffd")
        if why_not == "-":
            return ["uffd", "mprotect"]
        print(f"skipped: kills under the uffd trap: {why_not}", file=sys.stderr)
        return ["mprotect"]

    def kinds(self, count, dice, victims):
        """Every way with every protocol and trap, over and over; with each a random rank."""
        every = [(way, protocol, trap) for trap in self.traps() for protocol, ways in WAYS_OF.items() for way in ways]
        dice.shuffle(every)
        for way, protocol, trap in itertools.islice(itertools.cycle(every), count):
            victim = dice.choice(victims)
            yield f"{way}:{victim}" if way in ("hold", "wait", "absent") else way, protocol, trap, victim

    def kill_many(self, count, start, victims, messages):
        """`start` makes a job; `messages` is what it has to print, with the victim to be filled in."""
        seed = OPTIONS.seed if OPTIONS.seed is not None else random.randrange(1 << 32)
        dice = random.Random(seed)
        longest = 0
        for number, (how, protocol, trap, victim) in enumerate(self.kinds(count, dice, victims)):
            with self.subTest(number=number, seed=seed, how=how, protocol=protocol, trap=trap, victim=victim):
                self.environment["GRAPNEL_DSM_TRAP"] = trap
                self.environment["GRAPNEL_DSM_PROTOCOL"] = protocol
                # Little room for records, so that a barrier of almost every round of "collect" collects them.
                self.environment["GRAPNEL_DSM_RECORD_BYTES"] = "65536" if how == "collect" else "67108864"
                job, ranks_of = start(how)
                time.sleep(dice.random() * 0.2)
                begin = time.monotonic()
                os.kill(ranks_of[victim], signal.SIGKILL)
                code, err = self.finish(job)
                longest = max(longest, time.monotonic() - begin)
                self.assertNotEqual(code, 0, err)
                self.assertRegex(self.of_the_launcher(err), messages.format(victim=victim))
                self.nothing_is_left()
        print(f"{count} kills (--seed {seed}): {longest:.2f} s from kill to end at most", file=sys.stderr)

    def of_the_launcher(self, err):
        return self.BESIDE.sub("", err)

    def nothing_is_left(self):
        """The processes have ended: `finish`. tearDown looks again."""
        self.assertEqual(os.listdir(self.folder), [], "files were left in TMPDIR")
        self.assertEqual(jobs.shared_files_of_jobs() - self.shared, set(), "files were left in /dev/shm")

    def test_kills(self):
        # The launcher sees the death, or, before it does, a rank whose access to a page cannot be served.
        self.kill_many(OPTIONS.kills, lambda how: self.start_staying(how, RANKS, NODES), range(RANKS),
                       r"\Agrapnel run: rank ({victim} was killed by signal 9 \(Killed\); the job ends|"
                       r"\d aborted the job: an access to page \d+ of the shared heap cannot be served: peer dead: "
                       r".*\brank {victim}\b.*)\n\Z")

    def test_kills_that_the_launcher_does_not_see(self):
        # Each rank is the child of a shell that lives on, so that only the other ranks can end the job: by a call that
        # fails or a page that cannot be had, or by the watcher of the other rank of its node, after 2 s. Rank 4 is alone
        # on its node: there the job ends after 6 s (docs/progress.md).
        self.kill_many(OPTIONS.unseen, self.start_under_shells, range(4),
                       r"\A(Killed\n)?grapnel run: rank \d aborted the job: .*\brank {victim}\b.*\n\Z")

    def start_under_shells(self, how):
        launcher = [OPTIONS.tool, "run", "-n", str(RANKS), "--nodes", str(NODES), "--"]
        job = self.start("sh", "-c", '"$0" end "$1"; sleep 1000', OPTIONS.probe, how, launcher=launcher)
        ranks_of = {}
        for _ in range(RANKS):
            _, rank, process = job.stdout.readline().split()
            ranks_of[int(rank)] = int(process)
        return job, ranks_of


def load_tests(loader, _tests, _pattern):
    names = ("test_kills", "test_kills_that_the_launcher_does_not_see")
    return loader.loadTestsFromNames([f"HeapKill.{name}" for name in names], sys.modules[__name__])


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--tool", required=True)
    arguments.add_argument("--probe", required=True)
    arguments.add_argument("--kills", type=int, default=24)
    arguments.add_argument("--unseen", type=int, default=3, help="kills that the launcher does not see")
    arguments.add_argument("--seed", type=int)
    jobs.main(arguments)


if __name__ == "__main__":
    main()
