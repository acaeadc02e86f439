# SPDX-License-Identifier: Apache-2.0
"""The figures of the paper mpi2-passive-one-sided-2004: its four designs and Grapnel's, by MPI_Win_lock and
MPI_Win_unlock.

Nodes are the hosts of a lab, so that the host MPIs have them as well; where there can be none, virtual nodes and no hosts.
"""

import statistics

import jobs
import measures
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


def names(session):
    for figure, (ranks, _, rows) in FIGURES.items():
        for design in [*DESIGNS, *(host.name for host in session.hosts)]:
            for row in rows:
                if is_measured(design, ranks):
                    yield name_of(figure, row, design)
    for origins in ORIGINS:
        for design in DESIGNS:
            if design != "dedicated_thread":  # the messages are those of `event_driven`
                yield f"paper/contended/{origins}_origins/{design}"


def hosts_of(figure, ranks):
    return 2 if figure.startswith("pairs") else ranks


def designs(session, with_hosts):
    """Name, windows, settings."""
    ours = session.ours[0]
    for name, settings in DESIGNS.items():
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
            outcome = jobs.start(place, windows, ranks, figure.split("/")[0], *words(span_ms), **settings)
            rounds.take(wanted, outcome)
            order += [name for name in wanted.values() if name not in order]
    for name in order:
        values = rounds.values.get(name)
        # The target calls nothing of MPI for the whole time.
        waits = figure == "computing" and values and min(values) > 0.9e3 * span_ms
        rounds.report(session, name, waits)


def contended(session):
    """Figure 4: the target is a node, and each origin another one."""
    few, many = 20, 120 if session.quick else 420
    for design, windows, settings in designs(session, False):
        for origins in ORIGINS:
            name = f"paper/contended/{origins}_origins/{design}"
            if design == "dedicated_thread" or not session.wants([name]):
                continue
            ranks = origins + 1
            value = measures.messages_per(
                lambda count: jobs.start(jobs.OneMachine(ranks), windows, ranks, "contended", origins, count, **settings),
                few, many)
            if value is None:
                session.fail(name, "a job failed", "")
            else:
                session.report(Row(name, round(value / origins, 1), "messages", runs=(many - few) * origins))


def figures(session):
    for figure, (ranks, _, _) in FIGURES.items():
        wanted = [name for name in session.wants(names(session)) if name.startswith(f"paper/{figure}/")]
        if not wanted:
            continue
        with jobs.Hosts(hosts_of(figure, ranks)) as lab:
            has_lab = lab.number is not None
            figure_of(session, figure, lab if has_lab else jobs.OneMachine(hosts_of(figure, ranks)), has_lab)
            if not has_lab:
                session.skip([name for name in wanted if name.endswith(tuple(host.name for host in session.hosts))],
                             jobs.NO_LAB)
    contended(session)
