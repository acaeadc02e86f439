# SPDX-License-Identifier: Apache-2.0
"""Did a program pass? By its exit code, and by what it printed: some suites print a failure and exit with 0.

A line tells of a failure when a fail pattern matches it after everything harmless was taken out of it: the program's
own name, "0 errors", "no failures", "errors: none", "error handling", "maximum error 1.2e-15", "iteration 3 error 0.2".

Two things take more than one line: errors that are a measure and fall from line to line, as those of a method that
converges; and the failure that the line before has announced ("should fail").
"""

import re

from job_list import EXIT_CODE, NONZERO_EXIT, NORMAL

FAIL_PATTERNS = (
    r"\bfail(?:s|ed|ing|ures?)?\b",
    r"\berrors?\b",
    r"\bmis-?match(?:es|ed)?\b",
    r"\bdisagree(?:s|d|ments?)?\b",
    r"\b(?:not|in)[ -]?correct(?:ly)?\b",
    r"\bwrong\b",
    r"\bunexpected\b",
    r"(?:\b|_)abort(?:s|ed|ing)?\b",
    r"\bassert(?:ion)?\b",
    r"\bsegmentation (?:fault|violation)\b|\bsegfault\b|\bbus error\b|\bcore dumped\b",
    r"\bunimplemented\b|\bnot implemented\b",
)

_TROUBLE = r"(?:errors?|fail(?:ed|ures?)?|mis-?match(?:es)?|disagreements?|aborts?|aborted|wrong|incorrect)"
_THINGS = r"(?:(?:tests?|cases?|checks?|values?|elements?|total|of them|ranks?|programs?)\s+)?"
_BEING = r"(?:(?:are|is|were|was|have|has)\s+)?"
HARMLESS_PATTERNS = (
    rf"(?<![\w.-])(?:0|none)\s*(?:/|of|out of)\s*(?:\d+\s+|the\s+)?{_THINGS}{_BEING}{_TROUBLE}\b",
    rf"(?<![\w.-])(?:no|0|zero|without(?: any)?)\s+{_THINGS}{_TROUBLE}\b",
    rf"\b(?:never|nothing|none|(?:does|did|do|has|have) not|didn't|doesn't)\s+(?:has\s+|have\s+)?{_TROUBLE}\b",
    rf"\b{_TROUBLE}(?:\s+(?:count|tests?|number|total|found|detected))?\s*[:=]?\s*(?:0+|none)(?=\s*(?:$|[,;)\]|]|\.(?!\d)|of\b|out of\b))",
    r"\berror[- ](?:handl\w*|check\w*|codes?|class(?:es)?|tolerance|bounds?|messages?|threshold)\b",
    r"\b(?:check\w*|test\w*|look\w*|watch\w*)\s+(?:for|of|on)\s+(?:errors?|failures?|assertions?)\b",
    r"\b(?:expected|intended|deliberate)\s+(?:errors?|failures?|aborts?)\b",
    r"\b(?:iter(?:ations?)?|residuals?|converged?)\b.*\berrors?\b\s*[:=]?\s*[-+]?\d*\.\d+(?:[eEdD][-+]?\d+)?(?!\S)",
)

# A line that ends so announces a failure: it and the next line that says no more than that it failed are harmless.
_ANNOUNCEMENT = re.compile(r"\b(?:should|must|expected to|supposed to)\s+(?:fail|abort)\W*$", re.IGNORECASE)
_BARE_FAILURE = re.compile(r"\W*(?:fail(?:ed|ure)?|abort(?:ed)?)\W*", re.IGNORECASE)

# What Open MPI's mpirun says of itself: a race that it lost against its own child, and that a program's exit code was
# not 0, which is judged anyway.
LAUNCHER_PATTERNS = (
    r"^\[[^\]]*\] plm:rsh: Warning: setpgid\b.*",
    r"^a non-zero exit code\. Per user-direction, the job has been aborted\.",
)

# "error" beside a fraction is often a measure of accuracy; so small a one is none.
_MEASURE = re.compile(
    r"\berrors?\b[^\d\n]{0,24}?([-+]?(?:\d+\.\d*(?:[eEdD][-+]?\d+)?|\d+[eEdD][-+]?\d+))(?![\w.])", re.IGNORECASE
)
SMALLEST_ERROR = 1e-6
# So many lines, alike but for their numbers, whose error falls by such a factor in all, are a method that converges.
SERIES_LINES = 4
SERIES_FALL = 10.0
MOST_SERIES = 64
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?(?:[eEdD][-+]?\d+)?")

PASSED, FAILED, SLOW = "passed", "failed", "slow"
LONGEST_LINE = 4096


class Judge:
    """The patterns of one run of the suite."""

    def __init__(self, fail=(), harmless=(), must_print=None, use_defaults=True):
        defaults = (FAIL_PATTERNS, HARMLESS_PATTERNS) if use_defaults else ((), ())
        self.fail = [compiled(pattern) for pattern in (*defaults[0], *fail)]
        self.harmless = [compiled(pattern) for pattern in (*LAUNCHER_PATTERNS, *defaults[1], *harmless)]
        self.must_print = compiled(must_print) if must_print else None

    def tells_failure(self, line, names=()):
        """`names`: the program's, longest first; they may hold any word."""
        return self._offends(_MEASURE.sub(lambda match: " " if is_small(match[1]) else match[0], self._rest(line, names)))

    def measured_error(self, line, names=()):
        """The size of the error when nothing else in the line tells of a failure, else None."""
        rest = self._rest(line, names)
        sizes = [size_of(match[1]) for match in _MEASURE.finditer(rest)]
        return max(sizes) if sizes and not self._offends(_MEASURE.sub(" ", rest)) else None

    def _rest(self, line, names):
        for name in names:
            line = line.replace(name, " ")
        for pattern in self.harmless:
            line = pattern.sub(" ", line)
        return line

    def _offends(self, line):
        return any(pattern.search(line) for pattern in self.fail)


class Series:
    """Lines that are alike but for their numbers, each with an error's size."""

    def __init__(self, number, line, size):
        self.number, self.line = number, line
        self.first = self.last = size
        self.lines = 1

    def add(self, size):
        self.last = size
        self.lines += 1

    def converges(self):
        return self.lines >= SERIES_LINES and self.last * SERIES_FALL <= self.first


class Hearing:
    """Takes in one program's output as it comes; holds what speaks for and against it."""

    def __init__(self, judge, names):
        self.judge = judge
        self.names = names
        self.printed_pass = False
        self._rest = b""
        self._lines = 0
        self._told = None  # (number, line) of the first that tells of a failure by itself
        self._series = {}
        self._announced = False

    @property
    def first_failure(self):
        """The first line that tells of a failure, or None."""
        told = [self._told] if self._told else []
        told += [(series.number, series.line) for series in self._series.values() if not series.converges()]
        return min(told)[1].strip()[:200] if told else None

    def take(self, data):
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > LONGEST_LINE:
            lines, self._rest = [*lines, self._rest], b""
        for line in lines:
            self._take_line(line.decode(errors="replace").rstrip("\r"))

    def finish(self):
        self.take(b"\n")

    def _take_line(self, line):
        self._lines += 1
        if self.judge.must_print and self.judge.must_print.search(line):
            self.printed_pass = True
        if self._told is None and not self._is_announced(line) and self.judge.tells_failure(line, self.names):
            self._take_failure(line)

    def _is_announced(self, line):
        if _ANNOUNCEMENT.search(line):
            self._announced = True
            return True
        if self._announced and _BARE_FAILURE.fullmatch(line):
            self._announced = False
            return True
        return False

    def _take_failure(self, line):
        size = self.judge.measured_error(line, self.names)
        shape = " ".join(_NUMBER.sub("#", line).split())
        if size is None or (shape not in self._series and len(self._series) == MOST_SERIES):
            self._told = (self._lines, line)
        elif shape in self._series:
            self._series[shape].add(size)
        else:
            self._series[shape] = Series(self._lines, line, size)

    def verdict(self, exit_code, result=NORMAL):
        """Answers passed or failed, and why. `result`: what makes it good, from its row in a list."""
        failure = self.first_failure
        said = f"; it printed: {failure}" if failure is not None else ""
        if result == EXIT_CODE:
            return (PASSED, "") if exit_code == 0 else (FAILED, f"{text_of_exit(exit_code)}{said}")
        if result == NORMAL and exit_code != 0:
            return FAILED, f"{text_of_exit(exit_code)}{said}"
        if result != NORMAL and exit_code == 0:
            return FAILED, f"exit code 0, where another one is expected{said}"
        if result == NORMAL and failure is not None:
            return FAILED, f"exit code 0, but it printed: {failure}"
        if result != NONZERO_EXIT and self.judge.must_print and not self.printed_pass:
            return FAILED, f"exit code {exit_code}, but it printed nothing that matches '{self.judge.must_print.pattern}'"
        return PASSED, ""


def compiled(pattern):
    return re.compile(pattern, re.IGNORECASE)


def size_of(text):
    return abs(float(re.sub("[dD]", "e", text)))


def is_small(text):
    return size_of(text) <= SMALLEST_ERROR


def text_of_exit(code):
    number = -code if code < 0 else code - 128
    return f"exit code {code}" if number <= 0 or number > 64 else f"ended by signal {number}"
