#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on files over 500 lines and functions over 70; --verbose also lists what is over the goals, 300 and 40.

Looks at C, C++, Python and shell. A function is counted from the first line of its signature to its closing brace, blank
lines and comments included; a lambda counts as part of the function around it.
"""

import argparse
import ast
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from cpp_text import CPP_SUFFIXES, blank_all_but_code, project_files  # noqa: E402

FILE_LIMIT, FILE_GOAL = 500, 300
FUNCTION_LIMIT, FUNCTION_GOAL = 70, 40

_TYPE_WORDS = re.compile(r"\b(namespace|class|struct|union|enum)\b|^\s*extern\s*$|^\s*extern\s*\"")
_NOISE = re.compile(r"\b(?:alignas|__attribute__|decltype|requires|explicit)\s*\((?:[^()]|\([^()]*\))*\)|\[\[[^\]]*\]\]")
_LAMBDA = re.compile(r"\[[^\[\]]*\]\s*(?:\([^;{}]*\))?[^;{}()\[\]]*$")
_NAME = re.compile(r"([~\w:]+|operator[^\w\s(]+|operator\s*\(\))\s*\(")


class _Braces:
    """Follows the brackets of one C++ file; `functions` collects (name, first line, last line)."""

    def __init__(self, code):
        self.code = code
        self.functions = []
        self.stack = []  # (kind, head, position where the head began)
        self.head_start = 0

    def run(self):
        handlers = {
            "(": self._open_paren,
            ")": self._close_paren,
            "{": self._open,
            "}": self._close,
            ";": self._semicolon,
        }
        for match in re.finditer(r"[(){};]", self.code):
            handlers[match[0]](match.start())
        return self.functions

    def _inside(self, kind):
        return any(entry[0] == kind for entry in self.stack)

    def _in_expression(self):
        """In an argument list or an initializer, where only a lambda has a body."""
        return bool(self.stack) and self.stack[-1][0] in ("paren", "initializer")

    def _open_paren(self, position):
        self.stack.append(("paren", "", position))

    def _close_paren(self, position):
        if self.stack and self.stack[-1][0] == "paren":
            self.stack.pop()

    def _semicolon(self, position):
        if not self.stack or self.stack[-1][0] == "scope":
            self.head_start = position + 1

    def _open(self, position):
        head = self.code[self.head_start : position]
        kind = "block" if self._inside("function") else self._classify(head)
        start = self.head_start
        if kind == "function" and self._in_expression():
            introducer = _LAMBDA.search(head)
            head, start = introducer[0], start + introducer.start()
        self.stack.append((kind, head, start))
        if kind == "scope":
            self.head_start = position + 1

    def _classify(self, head):
        if self._in_expression():
            return "function" if _LAMBDA.search(head) else "initializer"
        plain = _NOISE.sub(" ", head)
        type_word = _TYPE_WORDS.search(plain)
        if type_word and "(" not in plain:
            return "scope"
        if "(" not in plain or re.search(r"(?<!operator)(?<![=!<>])=\s*$", plain.rstrip()):
            return "initializer"
        return "function"

    def _close(self, position):
        while self.stack and self.stack[-1][0] == "paren":  # unbalanced: a macro, or code that we do not understand
            self.stack.pop()
        if not self.stack:
            self.head_start = position + 1
            return
        kind, head, start = self.stack.pop()
        if kind == "function":
            following = self.code[position + 1 :].lstrip()[:1]
            if following in ("{", ",") and not self._in_expression():
                return  # a member initializer, `: part_{1} {`: the head goes on
            self._record(head, start, position)
        if kind in ("function", "scope") and not self._in_expression():
            self.head_start = position + 1

    def _record(self, head, start, end):
        cleaned = re.sub(r"\b(public|private|protected)\s*:", lambda m: " " * len(m[0]), head)
        lead = len(cleaned) - len(cleaned.lstrip())
        name = _NAME.search(_NOISE.sub(" ", cleaned))
        first = self.code.count("\n", 0, start + lead) + 1
        last = self.code.count("\n", 0, end) + 1
        self.functions.append((name[1].strip() if name else "(lambda)", first, last))


def cpp_functions(text):
    return _Braces(blank_all_but_code(text)).run()


def python_functions(text):
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [(node.name, node.lineno, node.end_lineno) for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]


def shell_functions(text):
    found, name, first = [], None, 0
    for number, line in enumerate(text.splitlines(), 1):
        opened = re.match(r"(?:function\s+)?([\w-]+)\s*\(\)\s*[{(]\s*(?:#.*)?$", line)
        if opened and name is None:
            name, first = opened[1], number
        elif name is not None and re.match(r"[})]", line):
            found.append((name, first, number))
            name = None
    return found


def language_of(root, path):
    if path.suffix in CPP_SUFFIXES:
        return cpp_functions
    if path.suffix == ".py":
        return python_functions
    if path.suffix in (".sh", ".bash"):
        return shell_functions
    if path.suffix == "":
        with open(root / path, "rb") as file:
            first = file.readline(80)
        if first.startswith(b"#!"):
            return python_functions if b"python" in first else shell_functions if b"sh" in first else None
    return None


def check(root, files=None):
    """(violations, over the goal), both as printable lines."""
    root = Path(root)
    violations, over_goal = [], []
    for path in project_files(root) if files is None else files:
        functions_of = language_of(root, path)
        if functions_of is None:
            continue
        text = (root / path).read_text(encoding="utf-8", errors="replace")
        sizes = [(f"{path}", f"{path} has", len(text.splitlines()), FILE_LIMIT, FILE_GOAL)]
        for name, first, last in functions_of(text):
            sizes.append((f"{path}:{first}", f"function {name} has", last - first + 1, FUNCTION_LIMIT, FUNCTION_GOAL))
        for place, what, lines, limit, goal in sizes:
            if lines > limit:
                violations.append(f"{place}: {what} {lines} lines (limit {limit})")
            elif lines > goal:
                over_goal.append(f"{place}: {what} {lines} lines (goal {goal})")
    return violations, over_goal


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--verbose", action="store_true", help="also list what is over the goals")
    arguments = parser.parse_args()
    violations, over_goal = check(arguments.root)
    if arguments.verbose and over_goal:
        print("\n".join(over_goal))
    if violations:
        print("\n".join(violations))
        return 1
    print(f"sizes: within the limits; {len(over_goal)} over the goals (--verbose lists them)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
