# SPDX-License-Identifier: Apache-2.0
"""What the tests of the tools share: where the tools are, and small trees of files to try them on."""

import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))


class TreeTest(unittest.TestCase):
    """A temporary tree that goes with the test."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="grapnel-tools-test-")
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.files = []

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)
        self.files.append(Path(path))
