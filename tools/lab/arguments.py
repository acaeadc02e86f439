# SPDX-License-Identifier: Apache-2.0
"""Kinds of arguments that several commands of the lab take."""

import argparse
import math
import re


def between(least, most):
    def check(text):
        if not text.isdigit() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"'{text}' is not a number from {least} to {most}")
        return int(text)

    return check


def seconds(text):
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of seconds above 0")
    return value


def setting(text):
    if not re.match(r"[A-Za-z_]\w*=", text):
        raise argparse.ArgumentTypeError(f"'{text}' is no NAME=VALUE")
    return text
