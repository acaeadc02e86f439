# SPDX-License-Identifier: Apache-2.0
"""Draws what a bench wrote, in tests."""

import pathlib
import subprocess
import sys

PLOT = pathlib.Path(__file__).resolve().parents[2] / "bench" / "plots" / "plot.py"


def python_with_matplotlib():
    for python in [sys.executable, "/usr/bin/python3"]:
        if subprocess.run([python, "-c", "import matplotlib"], capture_output=True, check=False).returncode == 0:
            return python
    return None


def draw(case, rows, folder):
    """The names of the pictures of the JSON file `rows`, made in `folder`. Skips the case where there is no matplotlib."""
    python = python_with_matplotlib()
    if python is None:
        case.skipTest("no python3 here has matplotlib (Debian: python3-matplotlib)")
    subprocess.run([python, "-B", PLOT, rows, "--out", folder], check=True, capture_output=True)
    pictures = sorted(pathlib.Path(folder).iterdir())
    for picture in pictures:
        case.assertEqual(picture.read_bytes()[:8], b"\x89PNG\r\n\x1a\n", picture)
    return [picture.name for picture in pictures]
