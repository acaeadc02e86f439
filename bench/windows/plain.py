# SPDX-License-Identifier: Apache-2.0
"""The rows of a program without windows: what the preloaded library adds to its start and end, and to its messages."""

import statistics

import window_jobs
import measures
from judging import Row

ROUNDS = 11
WHAT = {"start": "ms", "send_recv": "ns"}
PLACE = window_jobs.OneMachine()


def names(session):
    for what in WHAT:
        for ours in session.ours:
            yield f"plain_program/{what}/{ours.name}"


def pairs_of(session, ours, host):
    """Values of both by row, one a round, and why there are none. Each goes first in every other round."""
    values = {windows.name: {what: [] for what in WHAT} for windows in (ours, host)}
    for turn in range(1 if session.quick else max(ROUNDS, session.runs)):
        for windows in (ours, host) if turn % 2 else (host, ours):
            outcome = window_jobs.start(PLACE, windows, 2, "plain_program", 20 if session.quick else 200)
            for what in WHAT:
                if outcome.why_not(what):
                    return values, f"{windows.name} {outcome.why_not(what)}: {outcome.errors}"
                values[windows.name][what].append(outcome.values[what])
    return values, ""


def is_loaded(ours):
    """A library that did not start its job would cost nothing."""
    return measures.sent(measures.start_ours(PLACE, ours, 2, "plain_program", 1)) is not None


def report_start(session, ours, mine, theirs):
    longer = sorted((one - other) / 1e6 for one, other in zip(mine, theirs))
    note = f"{statistics.median(mine) / 1e6:.1f} beside {statistics.median(theirs) / 1e6:.1f}"
    session.report(Row(f"plain_program/start/{ours.name}", statistics.median(longer), WHAT["start"], runs=len(longer),
                       low=longer[len(longer) // 4], high=longer[3 * len(longer) // 4], note=note))


def report_messages(session, ours, mine, theirs):
    """Held against the slowest run without the library."""
    note = f"without the library {min(theirs):.0f} to {max(theirs):.0f}, median {statistics.median(theirs):.0f}"
    session.report(Row(f"plain_program/send_recv/{ours.name}", statistics.median(mine), WHAT["send_recv"], max(theirs),
                       runs=len(mine), note=note))


def plain_program(session):
    for ours in session.ours:
        wanted = [name for name in session.wants(names(session)) if name.endswith(ours.name)]
        if not wanted:
            continue
        host = next(host for host in session.hosts if host.mpi == ours.mpi)
        values, trouble = pairs_of(session, ours, host) if is_loaded(ours) else ({}, "the library has not started")
        if trouble:
            for name in wanted:
                session.fail(name, trouble, "")
            continue
        report_start(session, ours, values[ours.name]["start"], values[host.name]["start"])
        report_messages(session, ours, values[ours.name]["send_recv"], values[host.name]["send_recv"])
