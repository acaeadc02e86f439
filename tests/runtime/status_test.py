"""What a hang prints: `grapnel status`, SIGUSR1 and the time limit of `grapnel run`, the watchdog; and a crash.

status_test.py --tool BIN/grapnel --probe BIN/hang_probe [unittest arguments]
"""
import argparse
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "launch"))
import jobs  # noqa: E402
from jobs import OPTIONS, Case  # noqa: E402

LINES = (
    r"rank 0 \(node 0, process \d+\): does not wait; holds lock 0 of rank 0",
    r"rank 1 \(node 0, process \d+\): waits in lock for \d+\.\d s: lock 0 of rank 0, held by rank 0",
    r"rank 2 \(node 1, process \d+\): waits in wait_notify for \d+\.\d s: a notification from rank 0",
    r"rank 3 \(node 1, process \d+\): waits in barrier for \d+\.\d s: the barrier of ranks 0 to 3; "
    r"ranks 0 to 2 do not wait in it",
    r"node 0's server \(rank 0's process\): (asleep|awake), \d+ requests handled, 0 parked",
    r"node 1's server \(rank 2's process\): (asleep|awake), \d+ requests handled, 0 parked",
)


class Status(Case):
    def hang(self, *options, launcher=None):
        if launcher is not None:
            self.environment["GRAPNEL_NODES"] = "2"
        nodes = ["--nodes", 2] if launcher is None else []
        job = self.start("-n", 4, *nodes, *options, OPTIONS.probe, "hang", launcher=launcher)
        processes = self.read_processes(job)
        time.sleep(0.4)
        return job, processes

    def read_processes(self, job):
        processes = {}
        while len(processes) < 4:
            line = job.stdout.readline()
            if not line:
                self.fail(job.communicate()[1])
            match = re.match(r"ready (\d+) (\d+)$", line)
            if match:
                processes[int(match[1])] = int(match[2])
        return processes

    def status(self, *arguments, **more):
        done = subprocess.run([OPTIONS.tool, "status", *map(str, arguments)], text=True, capture_output=True,
                              timeout=20, env=self.environment, **more)
        return done.returncode, done.stdout, done.stderr

    def check(self, text):
        for line in LINES:
            self.assertRegex(text, re.compile(rf"^  {line}$", re.MULTILINE))

    def end(self, job):
        job.send_signal(signal.SIGTERM)
        job.communicate(timeout=20)

    def test_status_and_signal(self):
        job, processes = self.hang()
        for asked in (job.pid, processes[0], processes[3]):
            code, out, err = self.status(asked)
            self.assertEqual((code, err), (0, ""))
            self.check(out)
        self.assertIn(f"process {processes[2]}):", self.status()[1])
        job.send_signal(signal.SIGUSR1)
        time.sleep(0.5)
        self.assertIsNone(job.poll())
        os.kill(processes[1], signal.SIGSTOP)
        code, out, _ = self.status(job.pid)
        os.kill(processes[1], signal.SIGCONT)
        self.assertEqual(code, 0)
        self.assertIn(f"process {processes[1]}: no answer", out)
        job.send_signal(signal.SIGTERM)
        _, err = job.communicate(timeout=20)
        self.check(err)

    def test_another_user_is_refused(self):
        if os.geteuid() != 0:
            self.skipTest("only root can be another user")
        job, processes = self.hang()
        script = (f"import os, socket, sys; os.setgid(65534); os.setuid(65534)\n"
                  f"for line in open('/proc/net/unix'):\n"
                  f"  if '@grapnel-status-' in line and '-{processes[0]}-' in line:\n"
                  f"    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.settimeout(5)\n"
                  f"    s.connect('\\0' + line.split('@')[1].strip())\n"
                  f"    try: s.send(b's'); print('answer', s.recv(4096))\n"
                  f"    except OSError: print('answer', b'')\n"
                  f"    break\n")
        done = subprocess.run([sys.executable, "-c", script], text=True, capture_output=True, timeout=20)
        self.assertEqual(done.stdout, "answer b''\n", done.stderr)
        self.assertEqual(self.status(processes[0])[0], 0)
        self.end(job)

    def test_no_job(self):
        self.assertIn("is neither a rank nor the launcher", self.status(os.getpid())[2])
        code, out, err = self.status(4_194_303)
        self.assertEqual((code, out), (1, ""))
        self.assertIn("there is no process", err)
        self.assertEqual(self.status("x")[0], 2)

    def test_time_limit(self):
        code, _, err = self.run_job("-n", 4, "--nodes", 2, "--timeout", 2, OPTIONS.probe, "hang")
        self.assertEqual(code, 124)
        self.check(err)
        self.assertIn("the time limit of 2 s is over", err)

    def test_watchdog(self):
        self.environment["GRAPNEL_WATCHDOG_S"] = "1"
        job, _ = self.hang()
        time.sleep(2.4)
        self.end_with(job)

    def end_with(self, job):
        job.send_signal(signal.SIGTERM)
        _, err = job.communicate(timeout=20)
        self.check(err)
        self.assertRegex(err, r"grapnel: rank \d has waited for more than 1 s; job of 4 ranks")
        self.assertLessEqual(err.count("has waited for more"), 2, err)

    def test_status_signal_and_format(self):
        self.environment.update(GRAPNEL_STATUS_SIGNAL="USR2", GRAPNEL_LOG_FORMAT="full")
        job, processes = self.hang()
        os.kill(processes[2], signal.SIGUSR2)
        time.sleep(0.5)
        self.assertIsNone(job.poll())
        job.send_signal(signal.SIGTERM)
        _, err = job.communicate(timeout=20)
        self.check(err)
        self.assertRegex(err, rf"\d{{4}}-\d\d-\d\dT[\d:]+\.\d{{6}}Z {re.escape(socket.gethostname())} {processes[2]} "
                              r"grapnel: rank 2 was asked by a signal; ")

    def test_a_crash(self):
        self.environment["GRAPNEL_BACKTRACE"] = "1"
        code, _, err = self.run_job("-n", 2, "--nodes", 2, OPTIONS.probe, "crash", 1)
        self.assertEqual(code, 128 + signal.SIGSEGV)
        self.assertRegex(err, r"grapnel\[1\] error: rank 1 on host \S+ \(process \d+\) crashes by signal SIGSEGV")
        self.assertIn("the_function_that_crashes", err)
        self.assertIn("rank 1 was killed by signal 11", err)

    def test_a_job_at_work_is_not_disturbed(self):
        job = self.start("-n", 4, "--nodes", 2, OPTIONS.probe, "work", 0.6)
        self.read_processes(job)
        asked = 0
        while job.poll() is None and self.status(job.pid)[0] == 0:
            asked += 1
        out, err = job.communicate(timeout=20)
        self.assertEqual((job.returncode, out), (0, "right\n"), err)
        self.assertGreater(asked, 2)

    def test_under_other_launchers(self):
        for name, more in (("mpiexec.mpich", []), ("mpirun.openmpi", ["--oversubscribe"])):
            launcher = shutil.which(name)
            if launcher is None:
                print(f"skipped: status under {name}: it is not here", file=sys.stderr)
                continue
            with self.subTest(launcher=name):
                self.environment["GRAPNEL_WATCHDOG_S"] = "1"
                job, processes = self.hang(launcher=[launcher] + more)
                for asked in (processes[1], job.pid):
                    code, out, err = self.status(asked)
                    self.assertEqual((code, err), (0, ""))
                    self.check(out)
                time.sleep(1.5)
                os.kill(job.pid, signal.SIGTERM)
                _, err = job.communicate(timeout=20)
                self.check(err)
                self.wait_for_the_ends()
                self.remove_what_mpirun_left()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    parser.add_argument("--probe", required=True)
    jobs.main(parser)
