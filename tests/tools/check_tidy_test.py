# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys
import unittest

from support import ROOT, TreeTest


class CheckTidyTest(TreeTest):
    """A repository with one changed file, and a clang-tidy-14 that is what the test says."""

    def setUp(self):
        super().setUp()
        subprocess.run(["git", "init", "-q", self.root], check=True)
        self.write("a.cpp", "int a;\n")
        self.write("build/release/compile_commands.json",
                   f'[{{"directory": "{self.root}", "file": "a.cpp", "command": "c++ -c a.cpp"}}]')

    def tidy(self, seconds="60", path="/usr/bin:/bin"):
        command = [sys.executable, "-B", ROOT / "tools/check_tidy.py", "--root", self.root,
                   "--build", self.root / "build/release"]
        done = subprocess.run(command, env=dict(os.environ, PATH=path, GRAPNEL_TIDY_SECONDS=seconds),
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def with_tool(self, text, name="clang-tidy-14", rest=":/usr/bin:/bin"):
        self.write(f"bin/{name}", f"#!/bin/sh\n{text}\n")
        (self.root / f"bin/{name}").chmod(0o755)
        return f"{self.root / 'bin'}{rest}"

    def test_another_versions_findings_are_printed_and_fail_nothing(self):
        (self.root / "bin").mkdir()
        (self.root / "bin/git").symlink_to("/usr/bin/git")
        for name in ("clang-tidy-9", "clang-tidy-19"):
            path = self.with_tool(f"/bin/echo 'a.cpp:1: {name} minds'; exit 1", name, rest="")
        code, said = self.tidy(path=path)
        self.assertEqual(code, 0, said)
        self.assertIn("clang-tidy-19 minds", said)
        self.assertIn("fail nothing", said)

    def test_good_and_bad(self):
        self.assertEqual(self.tidy(path=self.with_tool("exit 0"))[0], 0)
        code, said = self.tidy(path=self.with_tool("echo 'a.cpp:1: bad'; exit 1"))
        self.assertEqual(code, 1)
        self.assertIn("a.cpp:1: bad", said)

    def test_a_change_of_comments_is_left_out(self):
        def commit():
            for words in (["add", "a.cpp"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"]):
                subprocess.run(["git", "-C", self.root, *words], check=True)
        bad = self.with_tool("exit 1")
        commit()
        for text, code in (("// a word\nint a;\n", 0), ("int a; // NOLINT\n", 1), ("int b;\n", 1)):
            self.write("a.cpp", "int a;\n")
            commit_needed = subprocess.run(["git", "-C", self.root, "diff", "--quiet"], check=False).returncode
            if commit_needed:
                commit()
            self.write("a.cpp", text)
            commit()
            self.assertEqual(self.tidy(path=bad)[0], code, text)

    def test_what_was_not_looked_at_is_not_good(self):
        (self.root / "git").mkdir()
        (self.root / "git/git").symlink_to("/usr/bin/git")
        for how, reason in [
            ({"path": str(self.root / "git")}, "clang-tidy-14 is not installed"),
            ({"path": self.with_tool("exit 0"), "seconds": "0"}, "1 not reached"),
        ]:
            code, said = self.tidy(**how)
            self.assertEqual(code, 1, said)
            self.assertIn(reason, said)

    def test_a_git_that_does_not_answer(self):
        (self.root / ".git/HEAD").unlink()
        code, said = self.tidy(path=self.with_tool("exit 0"))
        self.assertEqual(code, 1, said)
        self.assertIn("git diff", said)


if __name__ == "__main__":
    unittest.main()
