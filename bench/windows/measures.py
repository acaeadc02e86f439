# SPDX-License-Identifier: Apache-2.0
"""The rows that are none of the paper's: a busy target, an idle one, and messages."""

import contextlib
import re
import statistics

import window_jobs
from judging import Row

BUSY_MS = 350
BUSY_CALLS = 1000  # in that time, at least
BUSY = ["lock_put_unlock", "put_flush", "get_flush", "fetch_and_op_flush"]
BUSY_PLACES, IDLE_PLACES = ["one_node", "two_nodes", "two_hosts"], ["same_node", "two_hosts"]
KINDS = ["allocate", "create", "alloc_mem", "dynamic"]
IDLE = {"allocate": ["put_flush", "get_flush", "fetch_and_op_flush", "lock_unlock", "shared_lock_put_unlock",
                     "accumulate_4KiB_flush"],
        "create": ["put_flush", "get_flush"]}
MESSAGES = ["lock_put_unlock", "put_flush", "get_flush", "fetch_and_op_flush", "100_puts_flush",
            "lock_all_put_flush_unlock_all"]
SENT = re.compile(r"^sent by (?:ranks|servers) .* (\d+)$", re.MULTILINE)


@contextlib.contextmanager
def place_of(name):
    """None where there can be no such place here."""
    if name != "two_hosts":
        yield window_jobs.OneMachine(2 if name == "two_nodes" else 1)
        return
    with window_jobs.Hosts(2) as lab:
        yield lab if lab.number is not None else None


def in_places(session, names, places, kinds, measure):
    """`measure` at each place with each kind of window of which rows are wanted; a lab lasts for all kinds."""
    for where in places:
        if not session.wants(names(session), f"/{where}/"):
            continue
        with place_of(where) as place:
            for kind in kinds:
                wanted = session.wants(names(session), f"/{where}/{kind}/")
                if place is None:
                    session.skip(wanted, window_jobs.NO_LAB)
                elif wanted:
                    measure(session, where, place, kind)


def start_ours(place, windows, ranks, *words, **settings):
    return window_jobs.start(place, windows, ranks, *words, GRAPNEL_STATS="1", **settings)


def passed(outcome):
    """Why Grapnel passed a window to the host; empty: it did not."""
    reasons = re.findall(r"^windows passed: (.*) \d+$", outcome.errors, re.MULTILINE)
    return "the host's windows: " + reasons[0] if reasons else ""


# ---- while the target computes ----

def busy_names(session):
    for place in BUSY_PLACES:
        for kind in KINDS:
            for call in BUSY:
                for ours in session.ours:
                    yield f"busy_target/{place}/{kind}/{call}/{ours.name}"


def beside(hosts, call):
    """What the hosts did in the same run."""
    return ", ".join(f"{name} {outcome.why_not(call) or f'{outcome.values[call]:.0f}'}"
                     for name, outcome in hosts.items())


def busy_windows(session, where, place, kind):
    span_ms = BUSY_MS // (10 if session.quick else 1)
    hosts = {}
    if where != "two_nodes":  # the host MPIs have no virtual nodes
        hosts = {host.name: window_jobs.start(place, host, 2, "busy_target", kind, span_ms, *BUSY)
                 for host in session.hosts}
    for ours in session.ours:
        outcome = start_ours(place, ours, 2, "busy_target", kind, span_ms, *BUSY)
        for call in BUSY:
            name = f"busy_target/{where}/{kind}/{call}/{ours.name}"
            if outcome.why_not(call):
                session.fail(name, outcome.why_not(call), outcome.errors)
                continue
            note = "; ".join(text for text in [passed(outcome), beside(hosts, call)] if text)
            session.report(Row(name, outcome.values[call], "calls", BUSY_CALLS * span_ms / BUSY_MS, "higher", note=note))


def busy_target(session):
    in_places(session, busy_names, BUSY_PLACES, KINDS, busy_windows)


# ---- while the target waits in MPI_Barrier ----

def idle_names(session):
    for place in IDLE_PLACES:
        for kind, calls in IDLE.items():
            for call in calls:
                for ours in session.ours:
                    yield f"idle_target/{place}/{kind}/{call}/{ours.name}"


def middle(rounds, ours):
    """The round whose ratio to the faster host is the median: the time of `ours`, the host's, and which host."""
    medians = {host: statistics.median(values) for host, values in rounds.items() if values and not host.startswith("ours")}
    if not medians or not rounds.get(ours):
        return None
    fastest = min(medians, key=medians.get)
    pairs = sorted(zip(rounds[ours], rounds[fastest]), key=lambda pair: pair[0] / pair[1])
    return (*pairs[len(pairs) // 2], fastest)


def idle_rounds(session, place, kind):
    """Times by call and windows, one a round: all of them in turn, so that what else the machine does meets them equally. And
    the last trouble of each."""
    times = {call: {windows.name: [] for windows in session.hosts + session.ours} for call in IDLE[kind]}
    troubles = {}
    for _ in range(session.runs):
        for windows in session.hosts + session.ours:
            begin = start_ours if windows.library else window_jobs.start
            outcome = begin(place, windows, 2, "idle_target", kind, 5 if session.quick else 30, *IDLE[kind])
            for call in IDLE[kind]:
                why = outcome.why_not(call) or (windows.library and passed(outcome))
                if why:
                    troubles[windows.name, call] = why
                if not outcome.why_not(call):
                    times[call][windows.name].append(outcome.values[call])
    return times, troubles


def idle_windows(session, where, place, kind):
    times, troubles = idle_rounds(session, place, kind)
    for call, rounds in times.items():
        for ours in session.ours:
            name = f"idle_target/{where}/{kind}/{call}/{ours.name}"
            found = middle(rounds, ours.name)
            notes = [f"{windows} {why}" for (windows, what), why in troubles.items()
                     if what == call and (windows == ours.name or not windows.startswith("ours"))]
            if found is None:
                session.fail(name, "; ".join(notes) or "no host was measured", "")
                continue
            mine, theirs, host = found
            others = [f"{windows} {statistics.median(values):.0f}" for windows, values in rounds.items()
                      if values and windows != host and not windows.startswith("ours")]
            session.report(Row(name, mine, "ns", theirs, runs=len(rounds[ours.name]),
                               note="; ".join([f"beside {host}", *others, *notes])))


def idle_target(session):
    in_places(session, idle_names, IDLE_PLACES, IDLE, idle_windows)


# ---- messages between two nodes ----

def message_names(session):
    for call in MESSAGES:
        for ours in session.ours:
            yield f"messages/{call}/{ours.name}"


def sent(outcome):
    """Messages of the whole job, answers and acknowledgements counted; None where it printed no count."""
    counts = SENT.findall(outcome.errors)
    return sum(map(int, counts)) if outcome.well and len(counts) == 2 else None


def messages_per(begin, few, many):
    """Of one more call, to a tenth: the difference of two jobs, in which all else is the same but how often their starts ask
    whether the others are there, which on a busy machine is a few times more. None where one failed."""
    counts = [sent(begin(count)) for count in (few, many)]
    return None if None in counts else round((counts[1] - counts[0]) / (many - few), 1)


def messages(session):
    for call in MESSAGES:
        for ours in session.ours:
            name = f"messages/{call}/{ours.name}"
            if not session.wants([name]):
                continue
            few, many = 100, 3100 if session.quick else 10100  # a start on a busy machine differs by 100
            place = window_jobs.OneMachine(2)
            value = messages_per(lambda count: start_ours(place, ours, 4, "messages", call, count), few, many)
            if value is None:
                session.fail(name, "a job failed", "")
            else:
                session.report(Row(name, value, "messages", runs=many - few))
