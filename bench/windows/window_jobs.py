# SPDX-License-Identifier: Apache-2.0
"""The jobs of `bench windows`: one program by each MPI, on the host's windows or on Grapnel's, in place after place."""

import dataclasses
import os
import pathlib
import signal
import subprocess
import sys

LAB = pathlib.Path(__file__).resolve().parents[2] / "tools/lab/lab"
LIMIT_S = 120
NO_LAB = "there can be no lab here"
# Without UCX Debian's Open MPI has no windows between hosts.
OPENMPI_BETWEEN_HOSTS = {f"OMPI_MCA_{name}": value
                         for name, value in [("pml", "ucx"), ("osc", "ucx"), ("opal_common_ucx_tls", "any"),
                                             ("opal_common_ucx_devices", "any")]}


class Trouble(Exception):
    """Something that the caller of this program has to mend."""


@dataclasses.dataclass(frozen=True)
class Windows:
    """The windows of one MPI: the host's, or with `library`, preloaded, Grapnel's."""

    mpi: str
    program: str
    library: str = ""

    @property
    def name(self):
        return f"ours/{self.mpi}" if self.library else self.mpi


@dataclasses.dataclass
class Outcome:
    values: dict  # by the program's name of the row
    wrong: set
    errors: str  # what the job printed there, and how it ended
    well: bool

    def why_not(self, row):
        """Why there is no value of this row; None where there is."""
        if row in self.wrong:
            return "wrong data"
        if row in self.values:
            return None
        return "crashed" if not self.well else "not measured"


def read(output, errors, status):
    """What a job printed; its exit status is negative or above 128 for a signal."""
    outcome = Outcome({}, set(), errors, status == 0)
    for line in output.splitlines():
        words = line.split()
        if len(words) == 3 and words[0] == "window-row":
            outcome.values[words[1]] = float(words[2])
        elif len(words) == 2 and words[0] == "window-wrong":
            outcome.wrong.add(words[1])
    return outcome


def environment():
    return {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def run(words):
    """Nothing of the job is left, however it ends."""
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(),
                          start_new_session=True) as job:
        try:
            output, errors = job.communicate(timeout=LIMIT_S + 20)
        except BaseException as error:
            os.killpg(job.pid, signal.SIGTERM)
            output, errors = job.communicate()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
        return read(output, errors, job.returncode)


class OneMachine:
    """Ranks of this machine; with Grapnel's windows on so many virtual nodes."""

    def __init__(self, nodes=1):
        self.nodes = nodes

    def words(self, windows, ranks, settings):
        settings = dict(settings)
        if windows.library:
            settings["LD_PRELOAD"] = windows.library
            settings["GRAPNEL_NODES"] = str(self.nodes)
        if windows.mpi == "openmpi":
            words = ["mpirun.openmpi", "-n", str(ranks), "--oversubscribe", "--bind-to", "none", "--timeout", str(LIMIT_S)]
            return words + [word for name, value in settings.items() for word in ("-x", f"{name}={value}")]
        return ["mpiexec.hydra", "-n", str(ranks)] + [word for pair in settings.items() for word in ("-genv", *pair)]


class Hosts:
    """Hosts of a lab (docs/lab.md) for as long as the `with` lasts."""

    def __init__(self, hosts):
        self.hosts, self.number = hosts, None

    def __enter__(self):
        up = subprocess.run([LAB, "up", str(self.hosts), "--lab", "free", "--owner", str(os.getpid())],
                            capture_output=True, text=True, check=False)
        numbers = [line.split()[1].rstrip(":") for line in up.stdout.splitlines() if line.startswith("lab ")]
        if up.returncode == 0 and numbers:
            self.number = numbers[0]
        else:
            print(f"bench windows: {NO_LAB}: {up.stderr.strip()}", file=sys.stderr)
        return self

    def __exit__(self, *_):
        if self.number is not None:
            subprocess.run([LAB, "down", "--lab", self.number], stdout=subprocess.DEVNULL, check=False)

    def words(self, windows, ranks, settings):
        settings = dict(settings)
        if windows.library:
            settings["LD_PRELOAD"] = windows.library
        elif windows.mpi == "openmpi":
            settings.update(OPENMPI_BETWEEN_HOSTS)
        words = [str(LAB), "run", "--lab", self.number, "--launcher", windows.mpi, "-n", str(ranks), "--timeout",
                 str(LIMIT_S)]
        return words + [word for pair in settings.items() for word in ("--env", "=".join(pair))] + ["--"]


def start(place, windows, ranks, *words, **settings):
    """One job of the program at this place; its outcome."""
    return run(place.words(windows, ranks, settings) + [windows.program, *map(str, words)])
