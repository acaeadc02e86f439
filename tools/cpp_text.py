# SPDX-License-Identifier: Apache-2.0
"""C++ source as the checks want it: comments, strings and inactive branches blanked, every line kept in its place."""

import re
import subprocess
from pathlib import Path

CPP_SUFFIXES = {".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".inc", ".inl", ".ipp"}

_TOKEN = re.compile(
    r"""
    (?P<comment> //(?:\\\n|[^\n])* | /\*.*?(?:\*/|\Z) )
  | (?P<raw> (?:u8|[uUL])?R"(?P<tag>[^()\\\s]{0,16})\( .*? (?:\)(?P=tag)"|\Z) )
  | (?P<string> "(?:\\.|[^"\\\n])*(?:"|$) )
  | (?P<number> (?<![\w'])\d(?:[\w.]|'(?=\w)|[eEpP][+-])* )
  | (?P<char> '(?:\\.|[^'\\\n])*(?:'|$) )
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)


def _spaces(text):
    return re.sub(r"[^\n]", " ", text)


def blank_comments(text):
    """The same text with comments made spaces; strings stay."""
    return _TOKEN.sub(lambda m: _spaces(m.group()) if m.lastgroup == "comment" else m.group(), text)


def _blank_token(match):
    text = match.group()
    if match.lastgroup == "number":
        return text
    if match.lastgroup == "comment":
        return _spaces(text)
    return text[0] + _spaces(text[1:-1]) + text[-1] if len(text) > 1 else " "


def _blank_preprocessor(text):
    """Directives, and every branch of an #if but the first, made empty lines: what stays has matching braces."""
    out = []
    inactive = []  # by open #if: are we past its first branch?
    continued = False
    for line in text.split("\n"):
        stripped = line.lstrip()
        is_directive = stripped.startswith("#") and not continued
        if is_directive:
            word = re.match(r"#\s*(\w*)", stripped).group(1)
            if word.startswith("if"):
                inactive.append(False)
            elif word in ("else", "elif") and inactive:
                inactive[-1] = True
            elif word == "endif" and inactive:
                inactive.pop()
        was_directive = is_directive or continued
        continued = was_directive and line.endswith("\\")
        out.append("" if was_directive or any(inactive) else line)
    return "\n".join(out)


def blank_all_but_code(text):
    """Comments, the insides of strings, preprocessor lines and inactive branches blanked."""
    return _blank_preprocessor(_TOKEN.sub(_blank_token, text))


def project_files(root):
    """Relative paths of the project's files, tracked or new, as git sees them (ignored files left out)."""
    answer = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z", "-co", "--exclude-standard"], capture_output=True, check=True
    )
    paths = {Path(name) for name in answer.stdout.decode().split("\0") if name}
    return sorted(path for path in paths if (root / path).is_file())
