# SPDX-License-Identifier: Apache-2.0
"""What a branch has changed, for checks that look at changes only."""

import subprocess
import sys

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # git's name for a tree without files


def git(root, *arguments):
    """git's answer, or None where it failed."""
    answer = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, errors="replace",
                            check=False)
    return answer.stdout.strip() if answer.returncode == 0 else None


def lines_of_git(root, *arguments):
    """Without the answer the change is unknown, and the check would pass unseen files."""
    answer = git(root, *arguments)
    if answer is None:
        sys.exit(f"git {' '.join(arguments)} failed")
    return answer.splitlines()


def base_commit(root):
    """The merge base with origin/main, or HEAD~ where HEAD is that branch itself or there is no such branch."""
    head = git(root, "rev-parse", "HEAD")
    if head is None:
        return EMPTY_TREE
    merge_base = git(root, "merge-base", "HEAD", "origin/main")
    if merge_base and merge_base != head:
        return merge_base
    return git(root, "rev-parse", "--verify", "-q", "HEAD~") or EMPTY_TREE


def added_lines(root):
    """(path, line number, text) of every line that differs from the base, committed or not."""
    path, number = None, 0
    for line in lines_of_git(root, "diff", "--unified=0", "--no-color", "--no-ext-diff", base_commit(root)):
        if line.startswith("+++ "):
            path = line[6:] if line.startswith("+++ b/") else None
        elif line.startswith("@@"):
            number = int(line.split("+")[1].split(",")[0].split(" ")[0])
        elif line.startswith("+") and path:
            yield path, number, line[1:]
            number += 1
