# SPDX-License-Identifier: Apache-2.0
"""The figures of the paper mpi2-passive-one-sided-2004: its four designs and Grapnel's, by MPI_Win_lock and
MPI_Win_unlock.

Nodes are the hosts of a lab, so that the host MPIs have them as well; where there can be none, or where there are RDMA
devices, which hosts of a lab do not have, virtual nodes and no hosts.
"""

import contextlib
import pathlib
import re
import statistics

import window_jobs
from judging import Row

# Name here, and settings. The papers' lock by compare-and-swap; `mcs` has the swap that its adapter lacked.
DESIGNS = {
    "dedicated_thread": {"GRAPNEL_WINDOW_LOCK": "server_queue", "GRAPNEL_PROGRESS": "poll"},
    "event_driven": {"GRAPNEL_WINDOW_LOCK": "server_queue", "GRAPNEL_PROGRESS": "event"},
    "test_and_set": {"GRAPNEL_WINDOW_LOCK": "test_and_set"},
    "mcs_by_cas": {"GRAPNEL_WINDOW_LOCK": "mcs_by_cas"},
    "mcs": {"GRAPNEL_WINDOW_LOCK": "mcs"},
    "reader_writer": {"GRAPNEL_WINDOW_LOCK": "reader_writer"},
}
# The paper's own: the atomics are the adapter's.
ADAPTER_DESIGNS = {
    f"adapter_{kind}": {"GRAPNEL_WINDOW_LOCK": kind, "GRAPNEL_WINDOW_LOCK_DOMAIN": "network"}
    for kind in ["test_and_set", "mcs_by_cas"]
}
NO_ADAPTER = "no RDMA device here: ./dev lab guest has soft ones"
ORIGINS, THREADS = [1, 2, 4, 7], [0, 1, 2, 4]
OVERHEAD = ["lock", "unlock", "both"]
# Figure: ranks, words of the program, rows; the program's times are in ns, those of the rows in µs.
FIGURES = {
    "overhead": (2, lambda ms: [ms], OVERHEAD),
    "delay": (3, lambda ms: [max(3, ms // 5)], ["delay"]),
    "concurrency": (8, lambda ms: [ms, *ORIGINS], [f"{n}_origins" for n in ORIGINS]),
    "computing": (2, lambda ms: [ms, *THREADS], [f"{n}_threads" for n in THREADS]),
    "pairs/1_to_1": (2, lambda ms: [ms], ["both"]),
    "pairs/2_to_2": (4, lambda ms: [ms], ["both"]),
}


def name_of(figure, what, design):
    return f"paper/{figure}/{what}/{design}" if not figure.startswith(("delay", "pairs")) else f"paper/{figure}/{design}"


def is_measured(design, ranks):
    """Not eight servers that poll: each takes a processor for itself."""
    return ranks < 8 or design != "dedicated_thread"


def has_adapter():
    return any(pathlib.Path("/sys/class/infiniband").glob("*"))


def names(session):
    for figure, (ranks, _, rows) in FIGURES.items():
        for design in [*DESIGNS, *ADAPTER_DESIGNS, *(host.name for host in session.hosts)]:
            for row in rows:
                if is_measured(design, ranks):
                    yield name_of(figure, row, design)
    for origins in ORIGINS:
        for design in [*DESIGNS, *ADAPTER_DESIGNS]:
            if design != "dedicated_thread":  # the messages are those of `event_driven`
                yield f"paper/contended/{origins}_origins/{design}"


def hosts_of(figure, ranks):
    return 2 if figure.startswith("pairs") else ranks


def designs(session, with_hosts):
    """Those that can be measured here: name, windows, settings."""
    ours = session.ours[0]
    for name, settings in {**DESIGNS, **(ADAPTER_DESIGNS if has_adapter() else {})}.items():
        yield name, ours, {**settings, "GRAPNEL_STATS": "1"}
    for host in session.hosts if with_hosts else []:
        yield host.name, host, {}


class Rounds:
    """Values by row, one a round, and why there are none."""

    def __init__(self):
        self.values, self.troubles = {}, {}

    def take(self, names_by_row, outcome):
        for row, name in names_by_row.items():
            if outcome.why_not(row):
                self.troubles[name] = outcome.why_not(row)
            else:
                self.values.setdefault(name, []).append(outcome.values[row] / 1e3)

    def report(self, session, name, waits):
        values = sorted(self.values.get(name, []))
        if not values:
            session.fail(name, self.troubles.get(name, "not measured"), "")
            return
        low, high = values[len(values) // 4], values[(3 * len(values)) // 4]
        note = "waits for the target" if waits else ""
        session.report(Row(name, statistics.median(values), "us", runs=len(values), low=low, high=high, note=note))


def figure_of(session, figure, place, with_hosts):
    ranks, words, rows = FIGURES[figure]
    span_ms = 20 if session.quick else 100
    rounds, order = Rounds(), []
    for _ in range(1 if session.quick else 3):
        for design, windows, settings in designs(session, with_hosts):
            wanted = {row: name_of(figure, row, design) for row in rows}
            if not session.wants(wanted.values()) or not is_measured(design, ranks):
                continue
            outcome = window_jobs.start(place, windows, ranks, figure.split("/")[0], *words(span_ms), **settings)
            rounds.take(wanted, outcome)
            order += [name for name in wanted.values() if name not in order]
    for name in order:
        values = rounds.values.get(name)
        # The target calls nothing of MPI for the whole time. A server of ours that waits so long has no processor.
        is_host = name.rpartition("/")[2] in [host.name for host in session.hosts]
        waits = figure == "computing" and is_host and values and min(values) > 0.9e3 * span_ms
        rounds.report(session, name, waits)


def sent_by_locks(outcome, kind):
    """Messages of all locks of this kind, answers included, by ranks, servers and adapters, whose operations have none; None
    where there is no count."""
    counts = re.findall(rf"^{kind} .* (\d+) +(\d+) +(\d+)$", outcome.errors, re.MULTILINE)
    return sum(map(int, counts[0])) if outcome.well and len(counts) == 1 else None


def contended(session):
    """Figure 4: the target is a node, and each origin another one. The difference of two jobs is without their starts."""
    few, many = 20, 120 if session.quick else 420
    for design, windows, settings in designs(session, False):
        for origins in ORIGINS:
            name = f"paper/contended/{origins}_origins/{design}"
            if design == "dedicated_thread" or not session.wants([name]):
                continue
            ranks = origins + 1
            place = window_jobs.OneMachine(ranks)
            outcomes = [window_jobs.start(place, windows, ranks, "contended", origins, count, **settings)
                        for count in (few, many)]
            counts = [sent_by_locks(outcome, settings["GRAPNEL_WINDOW_LOCK"]) for outcome in outcomes]
            if None in counts:
                session.fail(name, "a job failed", outcomes[counts.index(None)].errors)
                continue
            acquisitions = (many - few) * origins
            session.report(Row(name, round((counts[1] - counts[0]) / acquisitions, 2), "messages", runs=acquisitions))


def figures(session):
    for figure, (ranks, _, _) in FIGURES.items():
        wanted = [name for name in session.wants(names(session)) if name.startswith(f"paper/{figure}/")]
        if not wanted:
            continue
        nodes = hosts_of(figure, ranks)
        with contextlib.nullcontext() if has_adapter() else window_jobs.Hosts(nodes) as lab:
            has_lab = lab is not None and lab.number is not None
            figure_of(session, figure, lab if has_lab else window_jobs.OneMachine(nodes), has_lab)
        if not has_lab:
            session.skip(of_designs(wanted, [host.name for host in session.hosts]), window_jobs.NO_LAB)
    contended(session)
    if not has_adapter():
        session.skip(of_designs(session.wants(names(session)), ADAPTER_DESIGNS), NO_ADAPTER)


def of_designs(rows, some):
    return [name for name in rows if name.rpartition("/")[2] in some]
