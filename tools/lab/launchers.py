# SPDX-License-Identifier: Apache-2.0
"""How each launcher is told to start a job across a lab's hosts."""

import os
import shutil
from pathlib import Path

from place import LabError

ROOT = Path(__file__).resolve().parent.parent.parent
AGENT = Path(__file__).resolve().parent / "agent"
LAUNCHERS = ("openmpi", "mpich", "grapnel")

# What a user sets for a job, and Open MPI leaves at home unless it is named. Hydra takes everything along.
PASSED_PREFIXES = ("GRAPNEL_", "ARMCI_", "COMEX_", "GA_", "MPIR_", "MPICH_", "UCX_", "ASAN_", "LSAN_", "TSAN_",
                   "UBSAN_")
PASSED_BY_GRAPNEL = ("GRAPNEL_", "UCX_")
PASSED_NAMES = ("LD_LIBRARY_PATH", "LD_PRELOAD", "OMP_NUM_THREADS")


def find(*names):
    for name in names:
        path = shutil.which(name)
        if path:
            return path
    raise LabError(f"there is no {' or '.join(names)} in PATH (./dev deps openmpi mpich)")


def host_list(hosts, per_host):
    return ",".join(f"{host['name']}:{per_host}" for host in hosts)


def open_mpi(place, hosts, options):
    words = [find("mpirun.openmpi", "mpirun"), "-n", options.ranks, "--host", host_list(hosts, options.per_host)]
    for name in sorted(set(passed_variables()) | {pair.split("=", 1)[0] for pair in options.env}):
        words += ["-x", name]
    return words


def hydra(place, hosts, options):
    return [find("mpiexec.hydra"), "-n", options.ranks, "-hosts", host_list(hosts, options.per_host)]


def grapnel(place, hosts, options):
    tool = options.grapnel or ROOT / "build/release/bin/grapnel"
    if not os.access(tool, os.X_OK):
        raise LabError(f"there is no {tool}: build it (./dev build), or name another one with --grapnel")
    # It passes on less than a job here is promised, so the ranks are given the others by a command of their own.
    pairs = [f"{name}={os.environ[name]}" for name in passed_variables()] + options.env
    variables = [pair for pair in pairs if not pair.startswith(PASSED_BY_GRAPNEL)]
    return [tool, "run", "-n", options.ranks, "--hosts", host_list(hosts, options.per_host), "--",
            *(["env", *variables] if variables else [])]


def command_of(place, hosts, options):
    build = {"openmpi": open_mpi, "mpich": hydra, "grapnel": grapnel}[options.launcher]
    return [str(word) for word in [*build(place, hosts, options), *options.command]]


def passed_variables():
    return [name for name in os.environ if name.startswith(PASSED_PREFIXES) or name in PASSED_NAMES]


def settings(place, folder, ranks):
    """Variables that make Open MPI's and MPICH's launchers use the lab, however they are called in the end."""
    values = {
        "OMPI_ALLOW_RUN_AS_ROOT": 1,
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": 1,
        "PRTE_ALLOW_RUN_AS_ROOT": 1,
        "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": 1,
        "OMPI_MCA_plm_rsh_agent": AGENT,
        "OMPI_MCA_plm_rsh_no_tree_spawn": 1,  # hosts do not know the agent
        "OMPI_MCA_orte_leave_session_attached": 1,  # a daemon that detached would end its init
        "OMPI_MCA_orte_tmpdir_base": folder,
        "OMPI_MCA_oob_tcp_if_include": place.subnet,
        "OMPI_MCA_btl_tcp_if_include": place.subnet,
        "OMPI_MCA_rmaps_base_oversubscribe": 1,
        "OMPI_MCA_hwloc_base_binding_policy": "none",  # all hosts are on the same processors
        # The same for Open MPI 5, whose mpirun is PRRTE's: it has variables of its own and does not read those above.
        "PRTE_MCA_plm_ssh_agent": AGENT,
        "PRTE_MCA_plm_ssh_no_tree_spawn": 1,
        "PRTE_MCA_prte_leave_session_attached": 1,
        "PRTE_MCA_prte_tmpdir_base": folder,
        "PRTE_MCA_prte_if_include": place.subnet,
        "PRTE_MCA_rmaps_default_mapping_policy": "slot:oversubscribe",  # all ranks on one host if only ":oversubscribe"
        "PRTE_MCA_hwloc_default_binding_policy": "none",
        "HYDRA_LAUNCHER": "ssh",
        "HYDRA_LAUNCHER_EXEC": AGENT,
        "HYDRA_IFACE": place.front_device,
    }
    if ranks > (os.cpu_count() or 1):
        values["OMPI_MCA_mpi_yield_when_idle"] = 1  # Open MPI looks at each host by itself
    return {name: str(value) for name, value in values.items()}
