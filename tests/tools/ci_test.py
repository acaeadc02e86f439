# SPDX-License-Identifier: Apache-2.0
import os
import shutil
import subprocess
import unittest

from support import ROOT, TreeTest


class CiTest(TreeTest):
    """.ci/run with commands that only say what a good run says."""

    def setUp(self):
        super().setUp()
        self.program("dev", 'echo "$*" >>called; echo "100% tests passed, 0 tests failed out of 3"')
        (self.root / ".ci").mkdir()
        self.script = shutil.copy(ROOT / ".ci/run", self.root / ".ci/run")

    def program(self, path, text):
        self.write(path, f"#!/bin/sh\n{text}\n")
        (self.root / path).chmod(0o755)

    def run_ci(self, ctest):
        self.program("bin/ctest", ctest)
        path = f"{self.root / 'bin'}:{os.environ['PATH']}"
        return subprocess.run([self.script], env=dict(os.environ, PATH=path), capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, check=False)

    def called(self):
        return (self.root / "called").read_text()

    def test_all_is_well(self):
        done = self.run_ci('echo "Total Tests: 3"')
        self.assertEqual((done.returncode, done.stdout.splitlines()[-1]),
                         (0, "100% tests passed, 0 tests failed out of 27"), done.stdout)
        self.assertIn("test --preset tsan --label free", self.called())
        self.assertIn("test --label slow", self.called())
        self.assertIn("test --mpi mpich --label mpi", self.called())
        self.assertIn("lab guest test", self.called())

    def test_without_a_guest_that_step_is_skipped(self):
        self.program("dev", 'echo "100% tests passed, 0 tests failed out of 3"; [ "$1" != lab ] || exit 77')
        done = self.run_ci('echo "Total Tests: 3"')
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("guest: skipped", done.stdout)

    def test_without_tests_for_the_sanitizers_it_fails(self):
        for ctest in ('echo "Total Tests: 0"', "exit 1"):
            done = self.run_ci(ctest)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn("FAILED: asan tsan", done.stdout)
            self.assertIn("test --minutes 20", self.called())

    def test_never_longer_than_the_budget(self):
        text = self.script.read_text()
        self.script.write_text(text.replace("budget_s=$((75 * 60))", "budget_s=44"))
        self.program("dev", '[ "$1" = test ] || exit 0; exec sleep 30')
        begin = os.times().elapsed
        done = self.run_ci('echo "Total Tests: 3"')
        self.assertLess(os.times().elapsed - begin, 20)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"asan: FAILED, [1-9] s")
        self.assertIn("test: FAILED, no time is left for it", done.stdout)


if __name__ == "__main__":
    unittest.main()
