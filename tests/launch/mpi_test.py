# SPDX-License-Identifier: Apache-2.0
"""Jobs that MPI's launchers start: over a communicator, over PMI-1, and handed over by `grapnel run`.

mpi_test.py --tool BIN/grapnel --probe BIN/launch_probe [--mpi-probe BIN/launch_mpi_probe --family openmpi|mpich
--launcher BIN/mpiexec] [unittest arguments]
"""
import argparse
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile

import jobs
from jobs import OPTIONS, Case, marked_processes

OPEN_MPI = shutil.which("mpirun.openmpi")
HYDRA = shutil.which("mpiexec.mpich")
DAEMONS = ("orted", "prted", "hydra_pmi_proxy")

# What stands in for ssh: runs the command here, whatever host was meant, with a TMPDIR per host, as hosts have.
AGENT = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
export TMPDIR="$AGENT_FOLDER/$1"
mkdir -p "$TMPDIR"
shift
exec sh -c "$*"
"""


def with_options(launcher):
    """More ranks than cores: Open MPI wants to be told."""
    if os.path.basename(launcher) == "prterun":
        return [launcher, "--map-by", ":oversubscribe"]
    return [launcher, "--oversubscribe"] if "openmpi" in os.path.basename(launcher) else [launcher]


def our_lines(text):
    return [line for line in text.splitlines() if line.startswith("grapnel: ")]


def name_of(process):
    try:
        with open(f"/proc/{process}/comm") as file:
            return file.read().strip()
    except OSError:
        return ""


def agent_variables(agent, folder):
    """What lets each launcher reach hosts through the agent: Open MPI 4, Open MPI 5 (PRRTE), hydra."""
    return dict(AGENT_FOLDER=folder, OMPI_MCA_plm_rsh_agent=agent, PRTE_MCA_plm_ssh_agent=agent, HYDRA_LAUNCHER="ssh",
                HYDRA_LAUNCHER_EXEC=agent, HYDRA_IFACE="lo")


def is_open_mpi_5(launcher):
    out = subprocess.run([launcher, "--version"], capture_output=True, text=True, check=False).stdout
    return re.search(r"Open MPI\)? v?5\.|prterun", out) is not None


class LaunchedCase(Case):
    """A job under the launcher of a subclass; `program` joins it."""
    launcher = program = None

    def kill_one(self, how, ranks, nodes, victim):
        job, ranks_of = self.start_staying(how, ranks, nodes, with_options(self.launcher))
        os.kill(job.pid if victim == "launcher" else ranks_of[victim], signal.SIGKILL)
        code, err = self.finish(job)
        self.remove_what_mpirun_left()
        self.assertNotEqual(code, 0)
        # The launcher is quicker and has its own words; where it has none, ours are there, and once.
        self.assertLessEqual(len(our_lines(err)), 1, err)

    def a_death_that_the_launcher_does_not_see(self, victim):
        # The rank is a shell that lives on; only the connection to the node's leader tells, so there is one node.
        self.environment["GRAPNEL_NODES"] = "1"
        script = '"$0" stay compute; exec sleep 1000'
        job = self.start("-n", 3, "sh", "-c", script, self.program, launcher=with_options(self.launcher))
        ranks_of = {}
        for _ in range(3):
            _, rank, process = job.stdout.readline().split()
            ranks_of[int(rank)] = int(process)
        os.kill(ranks_of[victim], signal.SIGKILL)
        code, err = self.finish(job, 8)
        self.remove_what_mpirun_left()
        self.assertNotEqual(code, 0)
        self.assertEqual(our_lines(err), [f"grapnel: rank {victim} died; the job ends"], err)

    def start_on_a_host(self, folder):
        """A job of 3 on a host that the launcher reaches through an agent, so that a daemon is between; answers the job
        and the file with what its ranks write to stderr."""
        agent = os.path.join(folder, "agent")
        with open(agent, "w") as file:
            file.write(AGENT)
        os.chmod(agent, 0o755)
        self.environment.update(agent_variables(agent, folder), GRAPNEL_NODES="1", ERRORS=os.path.join(folder, "errors"))
        hosts = ["-hosts" if self.launcher == HYDRA else "--host", "hosta:3"]
        script = 'exec "$0" stay compute 2>>"$ERRORS"'
        job = self.start(*hosts, "-n", 3, "sh", "-c", script, self.program, launcher=with_options(self.launcher))
        for _ in range(3):
            self.assertRegex(job.stdout.readline(), r"^ready \d+ \d+$")
        return job, os.path.join(folder, "errors")

    def kill_of_the_launcher(self, victim, has_message=True):
        """kill -9 of the launcher, or of its daemon beside the ranks: all end within 5 s, one rank with a message."""
        with tempfile.TemporaryDirectory(prefix="launch-hosts-") as folder:
            job, errors = self.start_on_a_host(folder)
            daemons = [process for process in marked_processes(self.mark) if name_of(process) in DAEMONS]
            self.assertTrue(daemons or victim == "launcher", "no daemon")
            for process in [job.pid] if victim == "launcher" else daemons:
                os.kill(process, signal.SIGKILL)
            self.finish(job)
            with open(errors) as file:
                lines = our_lines(file.read())
            if has_message:
                self.assertEqual(lines, ["grapnel: the launcher is gone; the job ends"])
            self.remove_what_mpirun_left()

    def kills_of_the_launcher(self):
        # hydra's proxy kills the ranks as soon as it loses mpiexec; so do Open MPI's daemons with some luck.
        for victim in ("launcher", "daemon"):
            with self.subTest(victim=victim):
                self.kill_of_the_launcher(victim, has_message=victim == "daemon")

    def kills(self):
        for victim, how in ((0, "sleep"), (3, "compute"), (1, "health"), ("launcher", "compute")):
            with self.subTest(victim=victim, how=how):
                self.kill_one(how, 4, 2, victim)
        for victim in (0, 2):
            with self.subTest(unseen=victim):
                self.a_death_that_the_launcher_does_not_see(victim)


class OverMpi(LaunchedCase):
    def setUp(self):
        super().setUp()
        if OPTIONS.mpi_probe is None:
            self.skipTest("this build has no MPI")
        if not OPTIONS.launcher or not os.path.exists(OPTIONS.launcher):
            self.skipTest(f"there is no launcher of {OPTIONS.family} here")
        self.launcher, self.program = OPTIONS.launcher, OPTIONS.mpi_probe

    def start_staying(self, how, ranks, nodes, launcher=None, **more):
        probe, OPTIONS.probe = OPTIONS.probe, OPTIONS.mpi_probe
        try:
            return super().start_staying(how, ranks, nodes, launcher, **more)
        finally:
            OPTIONS.probe = probe

    def run_probe(self, ranks, *words):
        return self.run_job("-n", ranks, self.program, *words, launcher=with_options(self.launcher))

    def test_everything(self):
        for ranks in (1, 3, 5):
            for nodes in (1, 2, 3):
                with self.subTest(ranks=ranks, nodes=nodes):
                    self.environment["GRAPNEL_NODES"] = str(nodes)
                    code, out, err = self.run_probe(ranks, "check")
                    self.assertEqual(code, 0, out + err)
                    self.assertEqual(sorted(re.findall(r"^mpi ok (\d+)$", out, re.M)),
                                     [str(rank) for rank in range(ranks)], out + err)
                    count = min(ranks, nodes)
                    self.assertEqual(len(re.findall(rf"^probe ok rank \d+ of {ranks} node \d+ of {count} under mpi \(",
                                                    out, re.M)), ranks if ranks > 1 else 2, out)

    def test_beside_mpi_without_using_it(self):
        # Open MPI 5 cannot start once PMIx is open (docs/launch.md, Limits).
        for when in ("first",) if self.open_mpi_5() else ("first", "after", "last"):
            with self.subTest(when=when):
                code, out, err = self.run_probe(3, "beside", when)
                self.assertEqual((code, out.count("mpi ok"), out.count("probe ok")), (0, 3, 6), out + err)

    def open_mpi_5(self):
        return OPTIONS.family == "openmpi" and is_open_mpi_5(self.launcher)

    def test_open_mpi_5_after_the_job_is_warned_of(self):
        if not self.open_mpi_5():
            self.skipTest("only Open MPI 5 fails where it starts after the job")
        _, out, err = self.run_probe(2, "beside", "after")
        self.remove_what_mpirun_left()
        self.assertEqual(err.count("call MPI_Init before the runtime starts"), 1, out + err)

    def test_mpi_not_there(self):
        for word, words in (("early", "not initialised"), ("late", "already finalised")):
            code, out, err = self.run_probe(1, word)
            self.assertEqual(code, 0, err)
            self.assertRegex(out, f"join: unavailable: .*{words}")

    def test_mpi_ends_before_the_job(self):
        code, out, err = self.run_probe(3, "reversed")
        self.assertEqual(code, 0, err)
        self.assertEqual(out.count("finish: unavailable: MPI is finalised"), 3, out)

    def test_alone_inside_a_larger_job(self):
        # `grapnel run` speaks PMI-1, so it is MPICH's launcher as well.
        launchers = [[OPTIONS.tool, "run"]] if OPTIONS.family == "openmpi" else []
        other = HYDRA if OPTIONS.family == "openmpi" else OPEN_MPI
        if other is not None:
            launchers.append(with_options(other))
        for launcher in launchers:
            with self.subTest(launcher=launcher):
                _, out, err = self.run_job("-n", 2, self.program, "alone", launcher=launcher)
                # Open MPI 5 finds its job under a `grapnel run` that offers PMIx.
                wanted = ["join: ok\n"] if self.open_mpi_5() and launcher[0] == OPTIONS.tool else []
                wanted.append("join: unavailable: this process was started by")
                self.assertIn(2, [out.count(words) for words in wanted], out + err)
                _, out, err = self.run_job("-n", 1, self.program, "alone", launcher=launcher)
                self.assertEqual(out, "join: ok\n", out + err)
        self.remove_what_mpirun_left()  # Open MPI's, of a process that it takes for a job of one
        code, out, _ = self.run_job("alone", launcher=[self.program])
        self.remove_what_mpirun_left()
        self.assertEqual((code, out), (0, "join: ok\n"))

    def test_mpich_under_grapnel_run(self):
        if OPTIONS.family != "mpich":
            self.skipTest("Open MPI does not speak PMI-1")
        for word in ("check", "beside first", "beside after", "beside last"):
            with self.subTest(word=word):
                code, out, err = self.run_job("-n", 3, "--nodes", 2, self.program, *word.split())
                self.assertEqual((code, out.count("mpi ok"), err), (0, 3, ""), out)

    def test_abort(self):
        code, out, err = self.run_probe(3, "abort", 1, 5)
        self.wait_for_the_ends()
        self.remove_what_mpirun_left()
        self.assertEqual(code, 5, out + err)
        self.assertEqual(our_lines(err), ["grapnel: rank 1: the probe was told to; the job ends"])

    def test_kills(self):
        self.kills()

    def test_kills_of_the_launcher(self):
        self.kills_of_the_launcher()


class Pmix(LaunchedCase):
    """A program without MPI under Open MPI's mpirun."""
    name = "mpirun.openmpi"

    def setUp(self):
        super().setUp()
        self.launcher, self.program = shutil.which(self.name), OPTIONS.probe
        if self.launcher is None:
            self.skipTest(f"there is no {self.name} here")

    def test_kills_of_the_launcher(self):
        self.kill_one("compute", 4, 2, "launcher")  # without a daemon between
        self.kills_of_the_launcher()


class Prterun(Pmix):
    """The launcher that Open MPI 5's mpirun is made of."""
    name = "prterun"


class Pmi1(LaunchedCase):
    def setUp(self):
        super().setUp()
        if HYDRA is None:
            self.skipTest("there is no mpiexec.mpich here")
        self.launcher, self.program = HYDRA, OPTIONS.probe

    def test_everything(self):
        for ranks in (1, 3, 5):
            for nodes in (1, 2):
                with self.subTest(ranks=ranks, nodes=nodes):
                    self.environment["GRAPNEL_NODES"] = str(nodes)
                    code, out, err = self.run_job("-n", ranks, OPTIONS.probe, "check", launcher=[HYDRA])
                    self.assertEqual(code, 0, out + err)
                    lines = sorted(out.splitlines())
                    self.assertEqual(len(lines), ranks, out)
                    for rank, line in enumerate(lines):
                        self.assertRegex(line, rf"^probe ok rank {rank} of {ranks} node \d+ of {min(ranks, nodes)} "
                                               r"under pmi-1 \(mpiexec\)$")

    def test_abort(self):
        code, _, err = self.run_job("-n", 3, OPTIONS.probe, "abort", 1, 5, launcher=[HYDRA])
        self.wait_for_the_ends()  # hydra answers before its proxies have killed the ranks
        self.assertEqual((code, our_lines(err)), (5, ["grapnel: rank 1: the probe was told to; the job ends"]))

    def test_a_port_is_refused_in_words(self):
        code, out, err = self.run_job("-pmi-port", "-n", 2, OPTIONS.probe, launcher=[HYDRA])
        self.assertNotEqual(code, 0)
        self.assertIn("without -pmi-port", out + err)

    def test_kills(self):
        self.kills()

    def test_kills_of_the_launcher(self):
        self.kills_of_the_launcher()

    def test_info_names_the_launcher(self):
        code, out, err = self.run_job("-n", 2, OPTIONS.tool, "info", launcher=[HYDRA])
        self.assertEqual(code, 0, err)
        self.assertEqual(out.count("node map (pmi-1 (mpiexec))"), 2, out)


class HandOver(Case):
    # Not for long: hydra ends nothing when a program that speaks no PMI-1 fails.
    RANK_1 = 'if [ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1 ]; then %s; fi; exec sleep 1'

    def launchers(self):
        found = [launcher for launcher in (OPEN_MPI, HYDRA) if launcher is not None]
        if not found:
            self.skipTest("there is neither mpirun.openmpi nor mpiexec.mpich here")
        return found

    def hand_over(self, launcher, *arguments):
        code, out, err = self.run_job("--launcher", launcher, *arguments)
        self.assertIn(f"grapnel run: handing over to {launcher}", err)
        return code, out, err

    def test_whichever_is_there(self):
        if shutil.which("mpirun") is None and shutil.which("mpiexec") is None:
            self.skipTest("there is neither mpirun nor mpiexec here")
        code, out, err = self.run_job("--mpi", "-n", 2, "--nodes", 2, "--", OPTIONS.probe, "check")
        self.assertEqual(code, 0, out + err)
        self.assertIn("handing over to", err)
        self.assertEqual(len(re.findall(r"of 2 node \d of 2 under (pmix|pmi-1) \(mpi", out)), 2, out)

    def test_programs(self):
        for launcher in self.launchers():
            with self.subTest(launcher=launcher):
                code, out, err = self.hand_over(launcher, "-n", 3, "--nodes", 2, OPTIONS.probe, "check")
                self.assertEqual(code, 0, out + err)
                self.assertEqual(len(re.findall(r"of 3 node \d of 2 under", out)), 3, out)

    def test_an_mpi_program(self):
        if OPTIONS.mpi_probe is None or not OPTIONS.launcher:
            self.skipTest("this build has no MPI, or its launcher is not here")
        code, out, err = self.hand_over(OPTIONS.launcher, "--mpi", "-n", 3, "--nodes", 2, OPTIONS.mpi_probe, "check")
        self.assertEqual((code, out.count("mpi ok")), (0, 3), out + err)

    def test_exit_codes(self):
        for launcher in self.launchers():
            with self.subTest(launcher=launcher):
                code, _, _ = self.hand_over(launcher, "-n", 2, "--", "sh", "-c", self.RANK_1 % "exit 7")
                self.remove_what_mpirun_left()
                self.assertEqual(code, 7)
                code, _, _ = self.hand_over(launcher, "-n", 2, "--", "sh", "-c", self.RANK_1 % "kill -SEGV $$")
                self.remove_what_mpirun_left()
                if launcher == OPEN_MPI:
                    self.assertEqual(code, 139)
                self.assertNotEqual(code, 0)  # hydra: 11, or 255 when it sees the end in another order

    def test_signals(self):
        script = "trap 'echo usr; kill $! 2>/dev/null; exit 0' USR1; sleep 1000 & echo up; wait"
        for launcher in self.launchers():
            with self.subTest(launcher=launcher):
                job = self.start("--launcher", launcher, "-n", 2, "--", "sh", "-c", script)
                for _ in range(2):
                    self.assertEqual(job.stdout.readline(), "up\n")
                job.send_signal(signal.SIGUSR1)
                out, _ = job.communicate(timeout=10)
                self.assertEqual((job.returncode, out), (0, "usr\nusr\n"))

    def test_time_limit(self):
        for launcher in self.launchers():
            with self.subTest(launcher=launcher):
                code, _, err = self.hand_over(launcher, "-n", 2, "--timeout", 1, "sleep", 60)
                self.wait_for_the_ends()
                self.remove_what_mpirun_left()
                if launcher == OPEN_MPI:
                    self.assertNotEqual(code, 0)
                else:  # hydra 4.2 may lose its own proxy when time is up, and then ends with 0
                    self.assertTrue(code != 0 or "pmip" in err, err)

    def hosts_of_a_job(self, launcher, hosts):
        """What every rank of a job of 5 sees, and the hosts that the launcher asked for."""
        with tempfile.TemporaryDirectory(prefix="launch-hosts-") as folder:
            agent = os.path.join(folder, "agent")
            with open(agent, "w") as file:
                file.write(AGENT)
            os.chmod(agent, 0o755)
            self.environment.update(agent_variables(agent, folder), UCX_LOG_LEVEL="error")
            script = 'echo "$GRAPNEL_NODES $UCX_LOG_LEVEL ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} ' \
                     '${OMPI_COMM_WORLD_NODE_RANK:-$MPI_LOCALRANKID}"'
            out = self.output_of_hosts(launcher, "-n", 5, "--nodes", 2, "--hosts", hosts, "--", "sh", "-c", script)
            return sorted(out.splitlines()), sorted(set(os.listdir(folder)) - {"agent"})

    def output_of_hosts(self, launcher, *arguments):
        """Open MPI 5's launcher does not end after one job of several to ten (docs/launch.md, Limits): then another job."""
        most = 6 if launcher == OPEN_MPI and is_open_mpi_5(launcher) else 1
        for job in range(1, most + 1):
            try:
                code, out, err = self.run_job("--launcher", launcher, *arguments, timeout=60 if most == 1 else 15)
            except subprocess.TimeoutExpired:
                for process in marked_processes(self.mark):
                    os.kill(process, signal.SIGKILL)
                self.wait_for_the_ends()
                self.remove_what_mpirun_left()
                if job == most:
                    raise
                continue
            self.assertIn(f"grapnel run: handing over to {launcher}", err)
            self.assertEqual(code, 0, out + err)
            self.wait_for_the_ends()
            return out

    def test_hosts(self):
        for launcher in self.launchers():
            for hosts, places in (("hosta,hostb", ["0 0", "1 1", "2 2", "3 0", "4 1"]),
                                  ("hosta:1,hostb:4", ["0 0", "1 0", "2 1", "3 2", "4 3"])):
                with self.subTest(launcher=launcher, hosts=hosts):
                    lines, asked = self.hosts_of_a_job(launcher, hosts)
                    self.assertEqual(lines, ["2 error " + place for place in places])
                    self.assertEqual(asked, ["hosta", "hostb"])

    def test_this_host_by_name(self):
        for launcher in self.launchers():
            code, out, err = self.hand_over(launcher, "-n", 2, "--hosts", socket.gethostname(), OPTIONS.probe, "check")
            self.assertEqual((code, out.count("probe ok")), (0, 2), out + err)

    def put_srun(self):
        srun = os.path.join(self.folder, "srun")
        with open(srun, "w") as file:
            file.write('#!/bin/sh\n[ "$1" = --version ] && echo slurm 22.05 && exit\necho "$GRAPNEL_NODES" "$@"; exit 9\n')
        os.chmod(srun, 0o755)
        return srun

    def test_slurm(self):
        srun = self.put_srun()
        self.environment.update(PATH=self.folder + ":" + self.environment["PATH"], SLURM_JOB_ID="1")
        code, out, _ = self.run_job("-n", 4, "--nodes", 2, "--hosts", "a:2,b:2", "--label", "--", "prog", "-x")
        self.assertEqual((code, out), (9, "2 --mpi=pmix -n 4 --overcommit -w a,b --label prog -x\n"))
        os.unlink(srun)

    def test_slurm_outside_of_its_jobs_where_there_is_nothing_else(self):
        srun = self.put_srun()
        self.environment["PATH"] = self.folder
        code, out, _ = self.run_job("--mpi", "-n", 2, "--nodes", 2, "--", "prog")
        os.unlink(srun)
        self.assertEqual((code, out), (9, "2 --mpi=pmix -n 2 prog\n"))
        code, _, err = self.run_job("--mpi", "-n", 2, "--", "prog")
        self.assertEqual(code, 1)
        self.assertIn("there is neither srun nor mpirun nor mpiexec in PATH", err)

    def test_mistakes(self):
        for arguments, code, words in ((("--launcher", "no-such-launcher", "true"), 127, "no program"),
                                       (("--hosts", ",", "true"), 2, "no host")):
            got, _, err = self.run_job(*arguments)
            self.assertEqual(got, code)
            self.assertIn(words, err)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--tool", required=True)
    arguments.add_argument("--probe", required=True)
    arguments.add_argument("--mpi-probe")
    arguments.add_argument("--family", default="none")
    arguments.add_argument("--launcher")
    jobs.main(arguments)
