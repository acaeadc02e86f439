#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs of Tmk.h under `grapnel run`: start and end, distribution, locks, system calls, and what each mistake prints."""

import argparse
import re
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "launch"))
import jobs  # noqa: E402

SHAPES = [(1, 1), (3, 1), (3, 2), (3, 3), (5, 2), (5, 3)]
TRAPS = ["auto", "mprotect"]

MISTAKES = {
    "lock": "Tmk_lock_acquire: lock 4096 is not below 4096 (TMK_NLOCKS)",
    "unlock": "Tmk_lock_release: lock 5000 is not below 4096 (TMK_NLOCKS)",
    "unlock-free": "Tmk_lock_release: process 1 does not hold lock 7",
    "lock-twice": "Tmk_lock_acquire: process 1 holds lock 8 already",
    "barrier": "Tmk_barrier: barrier 4096 is not below 4096 (TMK_NBARRIERS)",
    "barriers-differ": "rank 1 at barrier 11",
    "free": "Tmk_free: free: no block of the shared heap begins at",
    "distribute-stack": "Tmk_distribute: 4 bytes at 0x[0-9a-f]* lie on the stack, not in a global or static object",
    "distribute-malloc": "Tmk_distribute: 100 bytes at 0x[0-9a-f]* lie in memory of malloc",
    "distribute-constant": "Tmk_distribute: 8000 bytes at 0x[0-9a-f]* lie in constant data",
    "distribute-long": "Tmk_distribute: 1073741824 bytes at 0x[0-9a-f]* reach beyond the writable data of the program",
    "exit-early": "rank 1 at barrier -1",
    "startup-twice": "Tmk_startup: called a second time",
    "early-barrier": "Tmk_barrier: called before Tmk_startup or after Tmk_exit",
    "early-lock": "Tmk_lock_acquire: called before Tmk_startup",
    "early-malloc": "Tmk_malloc: called before Tmk_startup",
    "early-distribute": "Tmk_distribute: called before Tmk_startup",
}


PARMACS_MISTAKES = {
    "too-many": "CREATE: 2 more processes, but only 1 of 2 are idle; start the program with more",
    "uninitialized": "BARRIER: id -1 is not in 0..4095; initialize it first",
    "no-room": "G_MALLOC: the shared heap of 1024 MiB has no 2097152 KiB in one piece left",
    "ids": "LOCKINIT, BARINIT and the like: 1048576 more ids, but",
}


class TmkTest(jobs.Case):
    def run_program(self, shape, program, *arguments):
        ranks, nodes = shape
        return self.run_job("-n", ranks, "--nodes", nodes, "--", f"{jobs.OPTIONS.programs}/tmk_{program}", *arguments)

    def run_well(self, shape, program, *arguments):
        code, out, err = self.run_program(shape, program, *arguments)
        self.assertEqual((code, err), (0, ""), out)
        return out.splitlines()

    def all_pass(self, shapes, program):
        for shape in shapes:
            with self.subTest(shape=shape):
                lines = self.run_well(shape, program)
                passed = sorted(line for line in lines if line.startswith("passed"))
                self.assertEqual(passed, [f"passed {i}" for i in range(shape[0])])
        return lines

    def test_start_and_end(self):
        for shape in SHAPES:
            for way in ("return", "exit", "late") if shape == (3, 2) else ("return",):
                with self.subTest(shape=shape, way=way):
                    lines = self.run_well(shape, "start", way)
                    wanted = [f"started {i} of {shape[0]}" for i in range(shape[0])]
                    self.assertEqual(sorted(lines), [f"last words {i}" for i in range(shape[0])] + wanted)

    def test_a_status_ends_the_job(self):
        for way, wanted in (("return-3", 3), ("exit-3", 3), ("Tmk_exit-3", 3), ("exit-256", 1), ("blocked-3", 3)):
            with self.subTest(way):
                code, out, err = self.run_program((3, 2), "start", way)
                self.assertEqual(code, wanted, err)
                self.assertIn(f"process 2 ended with status {way.split('-')[1]}", err)
                self.assertIn("started 2 of 3", out)

    def test_a_child_of_fork_has_no_part(self):
        self.run_well((3, 2), "start", "fork")

    def test_tmk_exit_before_the_start(self):
        self.assertEqual(self.run_program((2, 1), "start", "unstarted")[0], 4)

    def test_a_setting_that_cannot_be_used(self):
        self.environment["GRAPNEL_FENCE"] = "sideways"
        alone = [f"{jobs.OPTIONS.programs}/tmk_start"]  # `grapnel run` would refuse it first
        code, out, err = self.run_job(launcher=alone)
        self.assertEqual((code, out), (1, "last words 0\n"))
        self.assertRegex(err, "^Tmk_startup: GRAPNEL_FENCE.*sideways.*\n$")

    def test_distribution(self):
        lines = self.all_pass(SHAPES, "distribute")
        addresses = {line for line in lines if line.startswith("address")}
        self.assertGreater(len(addresses), 1, "the program is loaded at one address everywhere: no test of PIE")

    def test_locks_and_barriers(self):
        for trap in TRAPS:
            self.environment["GRAPNEL_DSM_TRAP"] = trap
            self.all_pass([(3, 2), (5, 3)] if trap == TRAPS[0] else [(4, 2)], "counter")

    def test_system_calls(self):
        self.all_pass([(1, 1), (3, 2)], "system_calls")
        self.environment["GRAPNEL_DSM_TRAP"] = "mprotect"
        self.all_pass([(2, 2)], "system_calls")

    def test_signals(self):
        self.all_pass([(1, 1), (3, 2)], "signals")
        self.environment["GRAPNEL_DSM_TRAP"] = "mprotect"
        self.all_pass([(2, 2)], "signals")

    def run_parmacs(self, shape, *arguments, program="splash"):
        if not Path(f"{jobs.OPTIONS.programs}/tmk_splash").exists():
            self.skipTest("PARMACS: m4 was not installed when the tests were configured (./dev deps test)")
        return self.run_program(shape, program, shape[0], *arguments)

    def test_parmacs(self):
        for trap in TRAPS:
            self.environment["GRAPNEL_DSM_TRAP"] = trap
            for shape in [(1, 1), (2, 1), (2, 2), (4, 1), (4, 2), (4, 4)] if trap == TRAPS[0] else [(4, 2)]:
                with self.subTest(trap=trap, shape=shape):
                    code, out, err = self.run_parmacs(shape)
                    self.assertEqual((code, err), (0, ""), out)
                    worked = [f"worked {i}" for i in range(shape[0])]
                    self.assertEqual(sorted(out.splitlines()), sorted(["all ended"] + 2 * worked))

    def test_parmacs_ends_with_a_task(self):
        code, out, err = self.run_parmacs((3, 2), "exit-in-task")
        self.assertEqual((code, out, err), (0, "all ended\n", ""))

    def test_mistakes_of_parmacs(self):
        for mistake, text in PARMACS_MISTAKES.items():
            with self.subTest(mistake):
                code, out, err = self.run_parmacs((2, 2), mistake)
                self.assertNotEqual(code, 0)
                self.assertNotIn("all ended", out)
                self.assertIn(text, err)

    def test_parmacs_at_different_addresses(self):
        if Path("/proc/sys/kernel/randomize_va_space").read_text().strip() == "0":
            self.skipTest("PARMACS at different addresses: the kernel randomizes none")
        code, _, err = self.run_parmacs((2, 2), program="splash_pie")
        self.assertNotEqual(code, 0)
        self.assertRegex(err, "CREATE: the program lies at 0x.* in process 0.*at 0x.* in process 1.*-no-pie")

    def test_mistakes(self):
        for mistake, text in MISTAKES.items():
            with self.subTest(mistake):
                self.check_mistake(mistake, text)

    def test_fewer_locks_by_the_setting(self):
        self.environment["GRAPNEL_DSM_LOCKS"] = "64"
        self.check_mistake("lock-of-setting", "Tmk_lock_acquire: lock 64 is not below 64 (GRAPNEL_DSM_LOCKS)")

    def test_what_the_library_shows(self):
        command = ["nm", "-D", "--defined-only", jobs.OPTIONS.library]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
        shown = {line.split()[-1] for line in lines}
        include = Path(__file__).resolve().parents[3] / "include"
        for header, prefix, count in (("Tmk.h", "Tmk_", 10), ("grapnel/parmacs.h", "parmacs_", 14)):
            text = (include / header).read_text()
            declared = set(re.findall(rf"^(?:extern )?(?:\w+ )+\*?({prefix}\w+)", text.replace("void*", "void"),
                                      re.MULTILINE))
            self.assertEqual(len(declared), count)
            self.assertEqual({name for name in shown if name.startswith(prefix)}, declared)
        self.assertEqual([name for name in shown if name.startswith("_")], [], "symbols of C++")

    def check_mistake(self, mistake, text):
        code, out, err = self.run_program((2, 2), "mistakes", mistake)
        self.assertNotEqual(code, 0)
        self.assertNotIn("no mistake was found", out)
        self.assertRegex(err, re.escape(text).replace(re.escape("[0-9a-f]*"), "[0-9a-f]*"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", required=True, help="the grapnel command")
    parser.add_argument("--programs", required=True, help="the folder of the test programs")
    parser.add_argument("--library", required=True, help="libtmk.so")
    jobs.main(parser)
