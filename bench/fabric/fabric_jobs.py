# SPDX-License-Identifier: Apache-2.0
"""The jobs of `bench fabric`: one design, some figures, frames captured on the bridge while it runs."""

import dataclasses
import os
import re
import subprocess

import wire

LIMIT_S = 200
MARGIN_NS = 150_000_000  # the program sends nothing else so long before and behind its spans
BRIDGE = "fabric"


@dataclasses.dataclass(frozen=True)
class Design:
    """How a lock is made; `target_progress` is how the target's server waits, those of origins have nothing to do."""

    name: str
    kind: str
    domain: str
    target_progress: str = "event"
    settings: tuple = ()  # pairs


# A first pause as short as the longest one does not grow.
SAME_PAUSES = (("GRAPNEL_LOCK_BACKOFF_NS", "100"), ("GRAPNEL_LOCK_BACKOFF_MOST_NS", "100"))
DESIGNS = (
    Design("dedicated_thread", "server_queue", "processor", "poll"),
    Design("event_driven", "server_queue", "processor"),
    Design("test_and_set", "test_and_set", "network"),
    Design("mcs_by_cas", "mcs_by_cas", "network"),
    Design("ticket", "ticket", "network"),
)
WITHOUT_BACKOFF = Design("test_and_set_without_backoff", "test_and_set", "network", settings=SAME_PAUSES)

# Each node has a device, and the target's its own progress.
START_OF_RANK = """
node=$((PMI_RANK / $1))
export UCX_NET_DEVICES="rxe$node:1" GRAPNEL_PROGRESS=event
[ $node != 0 ] || export GRAPNEL_PROGRESS=$2
shift 2
exec "$@"
"""


# UCX registers 56 MiB for each worker, which takes the guest a second; of eight ranks none has so much to receive.
SMALL_QUEUES = {f"UCX_{name}_RX_QUEUE_LEN": "256" for name in ("RC_VERBS", "UD_VERBS")}


class Failed(Exception):
    """A job did not end well."""


@dataclasses.dataclass
class Step:
    """What the program printed of one step."""

    begin_ns: int
    end_ns: int
    acquisitions: int
    counted: int
    target_ns: int
    disturbed: int = 0  # 1: a rank may have sent something else, or few turns were taken
    times: dict = dataclasses.field(default_factory=dict)  # part: (low, median, high)


def read(output):
    """Steps by FIGURE:NUMBER, and the hand-overs: pairs of the time of release and that of acquisition."""
    steps, hand_overs = {}, []
    for line in output.splitlines():
        words = line.split()
        if line.startswith("step "):
            steps[words[1]] = Step(**{name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", line)})
        elif line.startswith("time "):
            steps[words[1]].times[words[2]] = tuple(map(int, words[3:6]))
        elif line.startswith("hand_over "):
            hand_overs.append((int(words[1]), int(words[2])))
    return steps, hand_overs


def command_of(build, design, ranks, nodes, span_ms, steps):
    words = [build / "bin/grapnel", "run", "-n", ranks, "--nodes", nodes, "--timeout", LIMIT_S, "--", "sh", "-c", START_OF_RANK,
             "sh", ranks // nodes, design.target_progress, build / "bin/grapnel-bench-fabric", design.kind, design.domain, span_ms,
             *steps]
    return [str(word) for word in words]


def environment(design):
    return dict(os.environ, UCX_TLS="rc_verbs,ud_verbs,self", UCX_UD_VERBS_ETH_DGID_CHECK="n", GRAPNEL_HEARTBEAT_MS="0",
                GRAPNEL_TRANSPORT="ucx", **SMALL_QUEUES, **dict(design.settings))


def run(build, design, ranks, nodes, span_ms, steps):
    """Steps, hand-overs, and what was captured. Failed, with how the job ended."""
    command = command_of(build, design, ranks, nodes, span_ms, steps)
    with wire.Capture(BRIDGE) as capture:
        done = subprocess.run(command, env=environment(design), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              check=False)
    if done.returncode != 0:
        raise Failed(f"the job ended with {done.returncode}: {done.stderr.strip()[-400:]}")
    return *read(done.stdout), capture


def frames_of_step(step, capture):
    return capture.count(step.begin_ns - MARGIN_NS, step.end_ns + MARGIN_NS)
