# SPDX-License-Identifier: Apache-2.0
"""The launcher as users meet it: start-up, exit codes, output, signals, and kill -9 of anything.

run_test.py --tool BIN/grapnel --probe BIN/launch_probe [--kills 20] [--seed N] [unittest arguments]
"""
import argparse
import json
import os
import pathlib
import pty
import random
import re
import shutil
import signal
import sys
import time

import jobs
from jobs import OPTIONS, Case


class StartUp(Case):
    def check(self, ranks, nodes, launcher=None):
        if launcher is None:
            code, out, err = self.run_job("-n", ranks, "--nodes", nodes, "--", OPTIONS.probe, "check")
        else:
            self.environment["GRAPNEL_NODES"] = str(nodes)
            code, out, err = self.run_job("-n", ranks, OPTIONS.probe, "check", launcher=launcher)
        self.assertEqual(code, 0, out + err)
        lines = sorted(line for line in out.splitlines() if line.startswith("probe ok"))
        self.assertEqual(len(lines), ranks, out + err)
        count = min(ranks, nodes)
        for rank, line in enumerate(lines):
            under = r"pmix \(" if launcher else r"pmi-1 \(grapnel run\)$"
            self.assertRegex(line, rf"^probe ok rank {rank} of {ranks} node \d+ of {count} under {under}")

    def test_grapnel_run(self):
        for ranks in (1, 2, 3, 5, 8):
            for nodes in (1, 2, 3):
                if nodes <= ranks:
                    with self.subTest(ranks=ranks, nodes=nodes):
                        self.check(ranks, nodes)

    def test_mpirun(self):
        mpirun = shutil.which("mpirun.openmpi")
        if mpirun is None:
            self.skipTest("there is no mpirun.openmpi here")
        for ranks, nodes in ((1, 1), (3, 2), (8, 3)):
            with self.subTest(ranks=ranks, nodes=nodes):
                self.check(ranks, nodes, [mpirun, "--oversubscribe"])

    def test_single(self):
        code, out, _ = self.run_job("check", launcher=[OPTIONS.probe])
        self.assertEqual(code, 0)
        self.assertEqual(out, "probe ok rank 0 of 1 node 0 of 1 under single\n")

    def test_a_pool_that_is_free_in_all_ranks_of_a_node(self):
        # Of four candidates; the ranks 0 and 1 are the first node, 2 the second, which agrees for itself.
        for masks, pools in (("0,0,0", [0, 0, 0]), ("0,1,0", [1, 1, 0]), ("1,2,7", [2, 2, 3]), ("12,3,8", None)):
            with self.subTest(masks=masks):
                code, out, err = self.run_job("-n", 3, "--nodes", 2, "--", OPTIONS.probe, "crowded", masks)
                found = sorted(line for line in out.splitlines() if line.startswith("pool"))
                if pools is None:
                    self.assertNotEqual(code, 0)
                    self.assertIn("addresses is free in all 2 ranks of the node (tried: 0x", out + err)
                else:
                    self.assertEqual(code, 0, out + err)
                    self.assertEqual(found, [f"pool {rank} {pool}" for rank, pool in enumerate(pools)])


class Ends(Case):
    def test_exit_code_of_the_first_that_failed(self):
        script = 'if [ "$PMI_RANK" = 2 ]; then exit 7; fi; sleep 60'
        code, _, err = self.run_job("-n", 4, "--", "sh", "-c", script)
        self.assertEqual((code, err), (7, "grapnel run: rank 2 exited with code 7; the job ends\n"))

    def test_a_rank_that_is_dying_is_the_cause(self):
        # The main thread of rank 0 ends, then rank 1 ends with 1, and only then can the end of rank 0 be collected.
        self.check_cause("wait_for(lambda: not os.path.exists(f'/proc/{other}'))", "os._exit(1)")

    def test_a_rank_that_is_dying_is_the_cause_of_an_abort(self):
        # The same, but rank 1 aborts the job, as it does when it learns of the death.
        self.check_cause("time.sleep(0.2)", "os.write(int(os.environ['PMI_FD']), b'cmd=abort exitcode=1\\n'); time.sleep(30)")

    def check_cause(self, until, last_of_other):
        script = '''
import ctypes, os, threading, time
back = os.getppid()
def ranks():
    with open(f"/proc/{back}/task/{back}/children") as file:
        return [int(one) for one in file.read().split()]
def wait_for(is_true):
    while not is_true():
        time.sleep(0.001)
def is_zombie(process):
    with open(f"/proc/{process}/stat") as file:
        return ") Z " in file.read()
wait_for(lambda: len(ranks()) == 2)
victim, other = ranks()
if os.environ["PMI_RANK"] == "0":
    def die():
        UNTIL
        os.kill(os.getpid(), 9)
    threading.Thread(target=die).start()
    ctypes.CDLL(None).syscall(60, 0)  # exit, of this thread alone
wait_for(lambda: is_zombie(victim))
LAST_OF_OTHER
'''.replace("UNTIL", until).replace("LAST_OF_OTHER", last_of_other)
        code, _, err = self.run_job("-n", 2, "--", sys.executable, "-c", script)
        self.assertEqual((code, err), (137, "grapnel run: rank 0 was killed by signal 9 (Killed); the job ends\n"))

    def test_signal(self):
        script = 'if [ "$PMI_RANK" = 1 ]; then kill -SEGV $$; fi; sleep 60'
        code, _, err = self.run_job("-n", 3, "--", "sh", "-c", script)
        self.assertEqual(code, 128 + 11)
        self.assertEqual(err, "grapnel run: rank 1 was killed by signal 11 (Segmentation fault); the job ends\n")

    def test_all_well(self):
        code, out, err = self.run_job("-n", 3, "echo", "--label", "-n")
        self.assertEqual((code, out, err), (0, "--label -n\n" * 3, ""))

    def test_exit_0_without_leaving(self):
        code, _, err = self.run_job("-n", 3, "--", OPTIONS.probe, "exit", 1, 0)
        self.assertEqual(code, 1)
        self.assertEqual(err, "grapnel run: rank 1 exited with code 0 but did not leave the job; the job ends\n")

    def test_exit_0_without_joining(self):
        script = f'[ "$PMI_RANK" = 1 ] || exec {OPTIONS.probe} exit 0 0'
        code, _, err = self.run_job("-n", 3, "--", "sh", "-c", script)
        self.assertEqual(code, 1)
        message = "rank 1 exited with code 0 and never joined the job that others are in; the job ends"
        self.assertEqual(err, f"grapnel run: {message}\n")

    def test_abort(self):
        code, _, err = self.run_job("-n", 3, "--nodes", 2, "--", OPTIONS.probe, "abort", 2, 5)
        self.assertEqual((code, err), (5, "grapnel run: rank 2 aborted the job: the probe was told to\n"))

    def test_time_limit(self):
        begin = time.monotonic()
        code, _, err = self.run_job("-n", 2, "--timeout", 0.5, "--", "sh", "-c", "trap '' TERM; sleep 60 & wait; wait")
        self.assertEqual((code, err), (124, "grapnel run: no rank has joined the job\n"
                                          "grapnel run: the time limit of 0.5 s is over; the job ends\n"))
        self.assertLess(time.monotonic() - begin, 4)

    def test_children_of_ranks_do_not_survive(self):
        script = "setsid sleep 1000 & (setsid sleep 1000 &) ; exit 0"
        code, _, err = self.run_job("-n", 2, "--", "sh", "-c", script)
        self.assertEqual((code, err), (0, ""))

    def test_mistakes(self):
        plain = os.path.join(self.folder, "plain")
        with open(plain, "w") as file:
            file.write("text")
        for arguments, code, words in (
                (("-n", 0, "true"), 2, "at least one rank"),
                (("-n", 2, "--nodes", 3, "true"), 2, "more virtual nodes"),
                (("-n", 2, "--nodes", 0, "true"), 2, "a number from 1 up"),
                (("-n", 2, "--nodes", -1, "true"), 2, "a number from 1 up"),
                (("--timeout", 0, "true"), 2, "more than 0"),
                (("--timeout", "nan", "true"), 2, "more than 0"),
                (("--timeout", "inf", "true"), 2, "at most 1e9"),
                (("--timeout", 2e9, "true"), 2, "at most 1e9"),
                (("-n", 2, "--host", "a", "true"), 2, "no option --host"),
                (("-x", "--", "true"), 2, "no option -x"),
                (("no-such-program-anywhere",), 127, "no program"),
                ((plain,), 126, "not executable"),
                ((), 2, "which program")):
            with self.subTest(arguments=arguments):
                got, _, err = self.run_job(*arguments)
                self.assertEqual(got, code)
                self.assertIn(words, err)
        os.unlink(plain)

    def test_without_loopback(self):
        if os.geteuid() != 0:
            self.skipTest("a network namespace without loopback needs root")
        code, out, err = self.run_job("-n", 2, "--nodes", 2, OPTIONS.probe, "check",
                                      launcher=["unshare", "-n", OPTIONS.tool, "run"])
        self.assertEqual((code, out.count("probe ok"), err), (0, 2, ""))


class InputOutput(Case):
    def test_label(self):
        script = 'printf "a\\nb"; sleep 0.1; echo c; echo wrong >&2; printf end'
        code, out, err = self.run_job("-n", 3, "--label", "--", "sh", "-c", script)
        self.assertEqual(code, 0)
        for rank in range(3):
            lines = [line for line in out.splitlines() if line.startswith(f"{rank}: ")]
            self.assertEqual(lines, [f"{rank}: a", f"{rank}: bc", f"{rank}: end"])
        self.assertEqual(sorted(err.splitlines()), [f"{rank}: wrong" for rank in range(3)])

    def test_much_labelled_output(self):
        code, out, _ = self.run_job("-n", 2, "--label", "--", "seq", 50000)
        self.assertEqual(code, 0)
        for rank in range(2):
            mine = [line for line in out.splitlines() if line.startswith(f"{rank}: ")]
            self.assertEqual(mine, [f"{rank}: {n}" for n in range(1, 50001)])

    def test_input_goes_to_rank_0(self):
        code, out, _ = self.run_job("-n", 3, "--label", "--", "cat", input="one\ntwo\n")
        self.assertEqual((code, out), (0, "0: one\n0: two\n"))

    def test_input_from_a_terminal(self):
        master, slave = pty.openpty()
        job = self.start("-n", 2, "--label", "--", "cat", stdin=slave, start_new_session=True,
                         preexec_fn=lambda: __import__("fcntl").ioctl(0, __import__("termios").TIOCSCTTY, 0))
        os.close(slave)
        os.write(master, b"typed\n")
        self.assertEqual(job.stdout.readline(), "0: typed\n")
        os.write(master, b"\x04")
        self.assertEqual(self.finish(job)[0], 0)
        os.close(master)


class Signals(Case):
    def test_control_c(self):
        master, slave = pty.openpty()
        job = self.start("-n", 3, "--", "sh", "-c", "echo up; sleep 1000", stdin=slave, start_new_session=True,
                         preexec_fn=lambda: __import__("fcntl").ioctl(0, __import__("termios").TIOCSCTTY, 0))
        os.close(slave)
        for _ in range(3):
            self.assertEqual(job.stdout.readline(), "up\n")
        os.write(master, b"\x03")
        code, err = self.finish(job)
        self.assertEqual((code, err), (130, "grapnel run: ended by signal 2 (Interrupt)\n"))
        os.close(master)

    def test_handled_signals_are_the_programs_business(self):
        script = "trap 'echo usr; kill $! 2>/dev/null; exit 0' USR2; sleep 1000 & echo up; wait"
        job = self.start("-n", 2, "--", "sh", "-c", script)
        for _ in range(2):
            self.assertEqual(job.stdout.readline(), "up\n")
        job.send_signal(signal.SIGUSR1)  # the launcher's own (tests/runtime/status_test.py)
        self.assertEqual(job.stderr.readline(), "grapnel run: no rank has joined the job\n")
        job.send_signal(signal.SIGUSR2)
        out, err = job.communicate(timeout=10)
        self.assertEqual((job.returncode, out, err), (0, "usr\nusr\n", ""))

    def test_a_second_control_c_kills(self):
        job = self.start("-n", 2, "--", "sh", "-c", "trap '' INT TERM; echo up; sleep 1000")
        for _ in range(2):
            self.assertEqual(job.stdout.readline(), "up\n")
        job.send_signal(signal.SIGINT)
        time.sleep(0.3)
        self.assertIsNone(job.poll())
        job.send_signal(signal.SIGINT)
        code, err = self.finish(job, 2)
        self.assertEqual((code, err), (130, "grapnel run: ended by signal 2 (Interrupt)\n"))

    def test_stop_and_continue(self):
        # Programs that fork nothing: a shell that waits for its vfork to return cannot be seen to stop.
        # A process group of its own, as a shell makes it: in an orphaned one the kernel ignores the stop.
        job, ranks_of = self.start_staying("sleep", 2, 1, preexec_fn=lambda: os.setpgid(0, 0))
        processes = list(ranks_of.values()) + [job.pid]
        job.send_signal(signal.SIGTSTP)
        self.wait_for_states(processes, "T")
        job.send_signal(signal.SIGCONT)
        self.wait_for_states(processes, "SR")
        job.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(job), (143, "grapnel run: ended by signal 15 (Terminated)\n"))

    def wait_for_states(self, processes, states):
        end = time.monotonic() + 5
        while True:
            seen = []
            for process in processes:
                with open(f"/proc/{process}/stat") as file:
                    seen.append(file.read().rsplit(")", 1)[1].split()[0])
            if all(state in states for state in seen):
                return
            self.assertLess(time.monotonic(), end, f"states {seen} and not {states}")
            time.sleep(0.01)


class Kill(Case):
    """kill -9: within 5 s everything has ended, non-zero, with one message that names who died; nothing is left."""

    def children_of(self, process):
        with open(f"/proc/{process}/task/{process}/children") as file:
            return [int(child) for child in file.read().split()]

    def back_of(self, job):
        return self.children_of(job.pid)[0]

    def one_kill(self, how, ranks, nodes, victim, delay_s, limit_s=5):
        job, ranks_of = self.start_staying(how, ranks, nodes)
        back = self.back_of(job)
        time.sleep(delay_s)
        if victim == "front":
            os.kill(job.pid, signal.SIGKILL)
            expected = f"grapnel run: the launcher (process {job.pid}) is gone; the job ends\n"
        elif victim == "back":
            os.kill(back, signal.SIGKILL)
            expected = f"grapnel run: the job's server (process {back}) was killed by signal 9 (Killed); the job ends\n"
        else:
            os.kill(ranks_of[victim], signal.SIGKILL)
            expected = f"grapnel run: rank {victim} was killed by signal 9 (Killed); the job ends\n"
        code, err = self.finish(job, limit_s)
        self.assertNotEqual(code, 0)
        self.assertEqual(self.of_the_launcher(err), expected)

    def of_the_launcher(self, err):
        """What is left of the text when what else may be said of a death is taken out: here, nothing is."""
        return err

    def test_the_server_dies_while_it_ends_the_job(self):
        # The others ignore SIGTERM, so that there is time between the message and the end.
        script = 'if [ "$PMI_RANK" = 1 ]; then sleep 0.3; exit 7; fi; trap "" TERM; sleep 1000'
        job = self.start("-n", 3, "--", "sh", "-c", script)
        message = job.stderr.readline()
        os.kill(self.back_of(job), signal.SIGKILL)
        self.assertEqual(message, "grapnel run: rank 1 exited with code 7; the job ends\n")
        self.assertEqual(self.finish(job), (7, ""))

    def test_random_kills(self):
        seed = OPTIONS.seed if OPTIONS.seed is not None else random.randrange(1 << 32)
        print(f"random kills: --seed {seed} --kills {OPTIONS.kills}", file=sys.stderr)
        dice = random.Random(seed)
        for number in range(OPTIONS.kills):
            ranks = dice.choice((1, 2, 3, 5, 8))
            nodes = dice.choice([n for n in (1, 2, 3) if n <= ranks])
            victim = dice.choice(list(range(ranks)) + ["front", "back"])
            how = dice.choice(("sleep", "compute", "fence", "health"))
            with self.subTest(number=number, seed=seed, how=how, ranks=ranks, nodes=nodes, victim=victim):
                self.one_kill(how, ranks, nodes, victim, dice.random() * 0.2)

    def test_kill_during_start_up(self):
        dice = random.Random(OPTIONS.seed)
        for number in range(10):
            with self.subTest(number=number):
                job = self.start("-n", 4, "--nodes", 2, "--", OPTIONS.probe, "stay", "sleep")
                time.sleep(dice.random() * 0.15)
                os.kill(job.pid, signal.SIGKILL)
                code, err = self.finish(job)
                self.assertNotEqual(code, 0)
                self.assertLessEqual(len(err.splitlines()), 1, err)

    def test_a_death_that_the_launcher_does_not_see(self):
        # The rank is a shell that lives on; only the connection to the node's leader tells.
        for victim in (0, 2):
            with self.subTest(victim=victim):
                job = self.start("-n", 3, "--", "sh", "-c", '"$0" stay compute; sleep 1000', OPTIONS.probe)
                ranks_of = {}
                for _ in range(3):
                    _, rank, process = job.stdout.readline().split()
                    ranks_of[int(rank)] = int(process)
                os.kill(ranks_of[victim], signal.SIGKILL)
                code, err = self.finish(job)
                self.assertNotEqual(code, 0)
                ours = [line for line in err.splitlines() if line.startswith("grapnel")]
                self.assertEqual(len(ours), 1, err)
                self.assertRegex(ours[0], rf"^grapnel run: rank \d+ aborted the job: rank {victim} died$")

    def test_rank_under_mpirun(self):
        mpirun = shutil.which("mpirun.openmpi")
        if mpirun is None:
            self.skipTest("there is no mpirun.openmpi here")
        # Not in a fence: Open MPI's own mpirun with PMIx 4.2 then sometimes crashes or hangs once the ranks have ended.
        for victim, how in ((0, "sleep"), (3, "compute"), (1, "health")):
            with self.subTest(victim=victim, how=how):
                job, ranks_of = self.start_staying(how, 4, 2, [mpirun, "--oversubscribe"])
                os.kill(ranks_of[victim], signal.SIGKILL)
                code, err = self.finish(job)
                self.assertNotEqual(code, 0)
                self.assertRegex(err.replace("\n", " "), rf"rank {victim} .*signal 9")
                self.assertNotIn("grapnel:", err)
        self.remove_what_mpirun_left()

    def test_mpirun_itself(self):
        mpirun = shutil.which("mpirun.openmpi")
        if mpirun is None:
            self.skipTest("there is no mpirun.openmpi here")
        job, _ = self.start_staying("compute", 4, 2, [mpirun, "--oversubscribe"])
        os.kill(job.pid, signal.SIGKILL)
        self.finish(job)  # no message: the ranks' stderr was a pipe to mpirun
        self.remove_what_mpirun_left()


class Info(Case):
    def test_info(self):
        for arguments in ((), ("--json",)):
            code, out, err = self.run_job(*arguments, launcher=[OPTIONS.tool, "info"])
            self.assertEqual((code, err), (0, ""))
            for word in ("version", "GRAPNEL_NODES", "GRAPNEL_LOG", "single", "ucx"):
                self.assertIn(word, out)

    def test_its_settings_are_those_of_the_page(self):
        _, out, _ = self.run_job("--json", launcher=[OPTIONS.tool, "info"])
        settings = next(part["rows"] for part in json.loads(out)["sections"] if part["title"] == "settings")
        page = pathlib.Path(__file__).parents[2].joinpath("docs/settings.md").read_text()
        told = re.findall(r"^\| `(GRAPNEL_\w+)`(?: \*)? \| (\S+) \|", page, re.MULTILINE)
        self.assertEqual(sorted(told), sorted((row["variable"], row["default"]) for row in settings))

    def test_settings_that_cannot_be_meant(self):
        self.environment["GRAPNEL_NODE"] = "2"
        _, _, err = self.run_job(launcher=[OPTIONS.tool, "info"])
        self.assertEqual(err, "grapnel info: GRAPNEL_NODE is no setting and has no effect; GRAPNEL_NODES is one\n")
        self.environment["GRAPNEL_FENCE"] = "sometimes"
        code, _, err = self.run_job(launcher=[OPTIONS.tool, "info"])
        self.assertEqual(code, 1)
        self.assertIn('GRAPNEL_FENCE="sometimes" cannot be used; it takes serial|overlapped', err)
        code, _, err = self.run_job("-n", 3, OPTIONS.probe, "check")
        self.assertEqual((code, err.count("cannot be used"), len(err.splitlines())), (2, 1, 1), err)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--tool", required=True)
    arguments.add_argument("--probe", required=True)
    arguments.add_argument("--kills", type=int, default=20, help="random kills; a soak takes 100")
    arguments.add_argument("--seed", type=int)
    jobs.main(arguments)


if __name__ == "__main__":
    main()
