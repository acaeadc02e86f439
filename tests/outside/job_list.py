# SPDX-License-Identifier: Apache-2.0
"""What is run: one job for each program that was found, or for each row of a suite's own list.

A list has a row for each job: NAME [RANKS [KEY=VALUE ...]], with # for comments, as MPICH's test suite has it. Keys:
arg and env (may be repeated), timeLimit (seconds), resultTest, xfail (the suite expects a failure).
"""

import dataclasses
from pathlib import Path

import programs

# resultTest: what makes a job good, besides the usual.
NORMAL, NONZERO_EXIT, NONZERO_EXIT_AND_PATTERN, EXIT_CODE = "normal", "nonzero", "nonzero and pattern", "exit code"
_RESULT_TESTS = {"TestNormal": NORMAL, "TestAllowWarnings": NORMAL, "TestStatus": NONZERO_EXIT,
                 "TestErrFatal": NONZERO_EXIT, "TestStatusNoErrors": NONZERO_EXIT_AND_PATTERN, "TestBench": EXIT_CODE}
# What other runners need: how a job is shared out among machines, and which build of MPI it wants.
_PASSED_OVER = {"mem", "lock", "init", "strict"}


class ListError(Exception):
    """A row that cannot be read."""


@dataclasses.dataclass
class Job:
    program: Path
    name: str
    ranks: int
    words: list = dataclasses.field(default_factory=list)
    env: dict = dataclasses.field(default_factory=dict)
    timeout_s: float = 60
    result: str = NORMAL
    expected_failure: str = ""


def read_list(file, folder, ranks, timeout_s, only=(), skip=()):
    """The rows of `file` whose names `only` and `skip` leave; `ranks` and `timeout_s` where a row has none."""
    jobs = []
    for number, line in enumerate(Path(file).read_text(encoding="utf-8").splitlines(), 1):
        fields = line.split("#", 1)[0].split()
        if not fields:
            continue
        try:
            job = job_of_row(fields, folder, ranks, timeout_s)
        except ListError as error:
            raise ListError(f"{file}, line {number}: {error}") from error
        if programs.wanted(Path(job.name), only, skip):
            jobs.append(job)
    return jobs


def job_of_row(fields, folder, ranks, timeout_s):
    name, *rest = fields
    job = Job(Path(folder, name), name, ranks, timeout_s=timeout_s)
    if rest and "=" not in rest[0]:
        job.ranks = positive("the number of ranks", rest.pop(0))
    for pair in rest:
        key, equals, value = pair.partition("=")
        if not equals:
            raise ListError(f"'{pair}' is no KEY=VALUE")
        take_key(job, key, value)
    return job


def take_key(job, key, value):
    if key == "arg":
        job.words.append(value)
    elif key == "env":
        name, equals, text = value.partition("=")
        if not equals:
            raise ListError(f"env={value}: it is no NAME=VALUE")
        job.env[name] = text
    elif key == "timeLimit":
        job.timeout_s = positive("timeLimit", value)
    elif key == "resultTest":
        if value not in _RESULT_TESTS:
            raise ListError(f"resultTest={value}: known are {', '.join(_RESULT_TESTS)}")
        job.result = _RESULT_TESTS[value]
    elif key == "xfail":
        job.expected_failure = value or "by the suite"
    elif key not in _PASSED_OVER:
        raise ListError(f"the key '{key}' is not known")


def positive(what, text):
    if not text.isdigit() or int(text) < 1:
        raise ListError(f"{what} '{text}' is not a number from 1 up")
    return int(text)
