import subprocess
import unittest

from support import ROOT


def dev(*words):
    return subprocess.run([ROOT / "dev", *words], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)


class DevTest(unittest.TestCase):
    def test_help_has_one_line_for_every_command(self):
        text = dev("help").stdout
        for command in ["build", "install", "demo", "test", "soak", "bench", "check", "format", "deps", "lab"]:
            self.assertRegex(text, rf"(?m)^  {command}\b.*\S")

    def test_what_is_unknown_is_an_error_of_the_caller(self):
        for words in [
            ["nonsense"],
            [],
            ["build", "fast"],
            ["build", "--mpi", "lam"],
            ["build", "--mpi"],
            ["build", "release", "asan"],
            ["build", "--speed"],
            ["install"],
            ["install", "--mpi", "none"],
            ["test", "one", "two"],
            ["test", "--full", "pattern"],
            ["deps", "everything"],
            ["check", "me"],
            ["lab"],
            ["bench", "locks", "--plot"],
        ]:
            answer = dev(*words)
            self.assertEqual(answer.returncode, 2, words)
            self.assertTrue(answer.stderr, words)

    def test_folders_of_builds(self):
        for words, folder in [
            ([], "build/release"),
            (["asan"], "build/asan"),
            (["--mpi", "none"], "build/release-none"),
            (["--cc=clang"], "build/release-clang"),
            (["tsan", "--cc", "clang", "--mpi", "mpich"], "build/tsan-mpich-clang"),
        ]:
            self.assertEqual(dev("dir", *words).stdout.strip(), folder)


if __name__ == "__main__":
    unittest.main()
