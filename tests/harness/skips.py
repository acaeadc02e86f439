# SPDX-License-Identifier: Apache-2.0
"""unittest's main, which also says why tests were skipped, in the form that ./dev test lists (tools/dev/run.sh).

unittest itself prints reasons only where it is verbose, and then in a form of its own.
"""

import sys
import unittest


def main(arguments=()):
    """Runs the tests of the program that was started, and ends it. `arguments`: those for unittest."""
    run = unittest.main(module="__main__", argv=[sys.argv[0], *arguments], exit=False)
    for test, reason in run.result.skipped:
        print(f"skipped: {test.id()}: {' '.join(reason.split())}", file=sys.stderr)
    sys.exit(0 if run.result.wasSuccessful() else 1)
