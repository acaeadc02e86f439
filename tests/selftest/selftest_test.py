# SPDX-License-Identifier: Apache-2.0
"""`grapnel selftest` on one machine: good runs, and its line for each thing that is wrong.

selftest_test.py --tool BIN/grapnel [--all] [unittest arguments]; with --all only what --all adds: under each launcher, a hang.
"""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "launch"))
import jobs  # noqa: E402
from jobs import OPTIONS, Case  # noqa: E402

LIMIT_S = 60  # within which a fault is named
VERDICTS = ("good", "slow", "wrong", "not here")
OPERATIONS = ("put 8 B", "put 524288 B", "get 8 B", "get 524288 B", "accumulate 8 B", "accumulate 65536 B",
              "strided put, short rows 1024 B", "strided put, long rows 32768 B", "strided get, short rows 1024 B",
              "strided get, long rows 32768 B", "strided accumulate 1024 B", "vector put 5640 B", "vector get 5640 B",
              "vector accumulate 5640 B", "fetch-and-add, swap, compare 8 B", "update (maximum) 8 B", "notify",
              "put and signal 8 B", "lock and unlock")
LIMITS = ("processors", "locked memory", "open files", "address space", "/dev/shm", "threads and descriptors")


class Run(Case):
    def setUp(self):
        super().setUp()
        for name in ("UCX_TLS", "UCX_NET_DEVICES", "GRAPNEL_TRANSPORT"):
            self.environment.pop(name, None)
        # Not in TMPDIR, which must be empty at the end.
        self.json = os.path.join("/tmp", f"selftest-{self.mark}.json")
        self.addCleanup(lambda: os.path.exists(self.json) and os.unlink(self.json))

    def selftest(self, *options, launcher=(), **more):
        begin = time.monotonic()
        done = subprocess.run([*launcher, OPTIONS.tool, "selftest", "--json", self.json, *map(str, options)],
                              env=self.environment, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=LIMIT_S, check=False, **more)
        print(f"{self.id()}: {time.monotonic() - begin:.1f} s", file=sys.stderr)
        with open(self.json) as file:
            report = json.load(file)
        self.check_schema(report)
        return done, report

    def check_schema(self, report):
        self.assertEqual(set(report), {"schema", "version", "launcher", "ranks", "nodes", "verdict", "seconds", "rows"})
        self.assertEqual(report["schema"], 1)
        self.assertIn(report["verdict"], VERDICTS)
        for row in report["rows"]:
            self.assertEqual(set(row), {"section", "name", "where", "verdict", "latency_us", "bandwidth_mb_s",
                                        "messages", "found", "remedy"})
            self.assertIn(row["verdict"], VERDICTS)
            if row["verdict"] in ("slow", "wrong"):
                self.assertTrue(row["found"] and row["remedy"], row)

    def check_good(self, done, report, ranks, nodes):
        """A busy machine is slow, but nothing on it is wrong."""
        wrong = [row for row in report["rows"] if row["verdict"] == "wrong"]
        self.assertEqual(wrong, [], done.stdout + done.stderr)
        self.assertEqual((report["ranks"], report["nodes"]), (ranks, nodes))
        self.assertIn(f"verdict: {report['verdict']} ", done.stdout)
        self.check_operations(report, "inside a node", nodes < ranks)
        self.check_operations(report, "between nodes", nodes > 1)
        for name in ("barrier", "collectives"):
            self.assertGreater(self.row(report, name)["latency_us"], 0)
        # Native atomics are of fabrics that these tests do not have (label rdma).
        self.assertEqual(self.row(report, "atomics by adapters")["verdict"], "not here")
        for name in LIMITS:
            self.assertEqual(self.row(report, name)["where"], "all nodes" if nodes > 1 else "node 0")
        self.assertRegex(self.row(report, "a target that computes")["found"], r"rank \d+ called nothing until all others")

    def check_operations(self, report, where, here):
        rows = {row["name"]: row for row in report["rows"] if row["section"] == "operations" and row["where"] == where}
        if not here:
            self.assertEqual([(name, row["verdict"]) for name, row in rows.items()], [("all", "not here")])
            return
        self.assertEqual(tuple(rows), OPERATIONS)
        for name, row in rows.items():
            self.assertGreater(row["latency_us"], 0, name)
            if where == "inside a node":
                self.assertLess(row["messages"], 0.1, name)  # of notify: a heartbeat may be among them
            else:
                self.assertGreaterEqual(row["messages"], 1, name)
        self.assertGreater(rows["put 524288 B"]["bandwidth_mb_s"], 0)
        if where == "between nodes":
            self.assertRegex(rows["put 524288 B"]["found"], "^bulk")
            self.assertRegex(rows["put 8 B"]["found"], "^messages")

    def row(self, report, name):
        rows = [row for row in report["rows"] if row["name"] == name]
        self.assertEqual(len(rows), 1, (name, report))
        return rows[0]

    def check_wrong(self, done, report, name, found, remedy):
        self.assertEqual((done.returncode, report["verdict"]), (1, "wrong"), done.stdout + done.stderr)
        row = self.row(report, name)
        self.assertEqual(row["verdict"], "wrong", row)
        self.assertRegex(row["found"], found)
        self.assertRegex(row["remedy"], remedy)
        self.assertIn(row["remedy"], done.stdout)


class Short(Run):
    def test_two_nodes(self):
        done, report = self.selftest()
        self.check_good(done, report, ranks=4, nodes=2)
        self.assertEqual(done.returncode, 0 if report["verdict"] == "good" else 1)
        self.assertRegex(report["launcher"], "grapnel run")
        self.assertRegex(self.row(report, "node map")["found"], "node 0: 2 of ranks 0 to 1; node 1: 2 of ranks 2 to 3")
        death = self.row(report, "a planted death")
        self.assertEqual(death["verdict"], "good", death)
        self.assertRegex(death["found"], r"rank 3 was killed, and the job was over \d\.\d s later: .*rank 3 ")

    def test_one_node_with_little_memory_to_lock(self):
        done, report = self.selftest("-n", 3, "--nodes", 1, launcher=("prlimit", "--memlock=65536"))
        self.check_good(done, report, ranks=3, nodes=1)
        limit = self.row(report, "locked memory")
        self.assertEqual(limit["verdict"], "not here")  # without an adapter nothing is locked
        self.assertRegex(limit["found"], "limit 64 KiB")
        self.assertRegex(limit["remedy"], "ulimit -l unlimited.*limits.d.*LimitMEMLOCK")
        self.assertIn(limit["remedy"], done.stdout)

    def test_a_transport_that_does_not_exist(self):
        self.environment["UCX_TLS"] = "nonsense"
        done, report = self.selftest()
        self.check_wrong(done, report, "transport", "no usable transport for UCX_TLS=nonsense",
                         r"unset what chooses it \(UCX_TLS=nonsense\)")
        self.assertRegex(self.row(report, "a planted death")["found"], "^not tried")

    def test_a_device_that_does_not_exist(self):
        self.environment.update(UCX_TLS="tcp", UCX_NET_DEVICES="eth77")
        done, report = self.selftest("-n", 2)
        self.check_wrong(done, report, "transport", r"UCX_NET_DEVICES=eth77 is set, and the devices here are: .*\blo\b",
                         "UCX_NET_DEVICES=eth77")

    def test_a_host_name_that_does_not_resolve(self):
        if not shutil.which("mpirun"):
            self.skipTest("no mpirun is installed")
        done, report = self.selftest("--hosts", "localhost,no-such-host.invalid", "--launcher", "mpirun")
        self.assertEqual([row["where"] for row in report["rows"] if row["name"] == "host name"],
                         ["no-such-host.invalid"])
        self.check_wrong(done, report, "host name", r"\w", "correct --hosts.*/etc/hosts")
        self.remove_what_mpirun_left()

    def test_more_nodes_than_ranks(self):
        done = subprocess.run([OPTIONS.tool, "selftest", "-n", "2", "--nodes", "3"], env=self.environment,
                              capture_output=True, text=True, timeout=LIMIT_S, check=False)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr, "grapnel selftest: --nodes 3: more virtual nodes than the 2 rank(s)\n")

    def test_a_result_that_cannot_be_written(self):
        done = subprocess.run([OPTIONS.tool, "selftest", "-n", "1", "--json", "/no/such/folder/file"],
                              env=self.environment, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot write /no/such/folder/file", done.stderr)


class All(Run):
    def as_ranks_of(self, name, *options, ranks=4):
        launcher = shutil.which(name)
        if launcher is None:
            self.skipTest(f"no {name} is installed")
        self.environment["GRAPNEL_NODES"] = "2"
        done, report = self.selftest(launcher=(launcher, "-n", str(ranks), *options))
        self.check_good(done, report, ranks, nodes=2)
        self.assertEqual(self.row(report, "a planted death")["verdict"], "good")
        self.remove_what_mpirun_left()

    def test_under_mpirun(self):
        self.as_ranks_of("mpirun.openmpi", "--oversubscribe")

    def test_under_hydra(self):
        self.as_ranks_of("mpiexec.hydra", ranks=3)

    def test_under_srun(self):
        if not shutil.which("srun"):
            self.skipTest("no srun is installed")
        idle = subprocess.run(["sinfo", "-h", "-t", "idle", "-o", "%n"], capture_output=True, text=True, check=False)
        if not idle.stdout.strip():
            self.skipTest("no node of a Slurm is idle here")
        self.as_ranks_of("srun", "--mpi=pmix", "--overcommit")

    def test_under_grapnel_run(self):
        done, report = self.selftest(launcher=(OPTIONS.tool, "run", "-n", "3", "--nodes", "3", "--"))
        self.check_good(done, report, ranks=3, nodes=3)
        self.assertEqual(self.row(report, "a planted death")["verdict"], "good")

    def test_a_wrong_transport_under_mpirun(self):
        launcher = shutil.which("mpirun.openmpi")
        if launcher is None:
            self.skipTest("no mpirun.openmpi is installed")
        self.environment.update(UCX_TLS="nonsense", GRAPNEL_NODES="2")
        done, report = self.selftest(launcher=(launcher, "--oversubscribe", "-n", "2"))
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(self.row(report, "transport")["found"], "UCX_TLS=nonsense")
        self.remove_what_mpirun_left()

    def test_an_interrupt(self):
        """What was found until then is printed, and no process is left."""
        job = self.start("selftest", launcher=[OPTIONS.tool])
        while len(jobs.marked_processes(self.mark)) < 7:  # itself, the launcher's two, four ranks
            self.assertIsNone(job.poll(), "it ended before all ranks were there")
            time.sleep(0.01)
        job.send_signal(signal.SIGINT)
        out, _ = job.communicate(timeout=10)
        self.assertEqual(job.returncode, 1)
        self.assertRegex(out, r"the job +wrong +ended by signal 2 \(Interrupt\)")

    def test_a_rank_that_is_stopped(self):
        """A step that hangs ends in a line that names the step and shows what the ranks wait for."""
        job = self.start("selftest", "--json", self.json, "--limit", 30, launcher=[OPTIONS.tool])
        stopped = None
        while stopped is None:
            self.assertIsNone(job.poll(), "it ended before a rank was stopped")
            ranks = [process for process in jobs.marked_processes(self.mark) if "--part" in words_of(process)
                     and words_of(process)[1] == "selftest"]
            stopped = ranks[-1] if len(ranks) == 4 else None
        time.sleep(0.5)
        os.kill(stopped, signal.SIGSTOP)
        out, err = job.communicate(timeout=LIMIT_S)
        with open(self.json) as file:
            report = json.load(file)
        self.assertEqual((job.returncode, report["verdict"]), (1, "wrong"), out + err)
        row = next(row for row in report["rows"] if row["section"] == "job")
        self.assertRegex(row["found"], "was not over within|lost host|has lost the others")


def words_of(process):
    try:
        with open(f"/proc/{process}/cmdline") as file:
            return file.read().split("\0")
    except OSError:
        return ["", ""]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    parser.add_argument("--all", action="store_true")
    _, rest = parser.parse_known_args(namespace=OPTIONS)
    globals().pop("Short" if OPTIONS.all else "All")
    jobs.skips.main(rest)


if __name__ == "__main__":
    main()
