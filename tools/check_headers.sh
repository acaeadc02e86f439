#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every public header compiles alone, with every compiler that is here; a .h also as C. Those that stand on MPI take the one
# that pkg-config finds.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
include=${1:-$root/include}
failed=0 count=0 used=()
mpi=$(pkg-config --cflags-only-I ompi-c 2>/dev/null || pkg-config --cflags-only-I mpich 2>/dev/null || true)

compile_alone() { # compiler language standard header
  printf '#include "%s"\n' "$4" |
    "$1" -x "$2" -std="$3" -fsyntax-only -Wall -Wextra -Wpedantic -Werror -I"$include" \
      ${mpi//-I/-isystem } - ||
    { echo "$4 does not compile alone with $1 -std=$3" && failed=1; }
}

c_compiler_of() { case $1 in g++) echo gcc ;; *) echo "${1/clang++/clang}" ;; esac; }

newest_clang=$(compgen -c clang++- | grep -E '^clang\+\+-[0-9]+$' | sort -t- -k2nr | head -1 || true)
for compiler in g++ clang++-14 clang++ $newest_clang; do
  command -v "$compiler" >/dev/null || continue
  [[ "${used[*]}" != *clang* ]] || continue
  used+=("$compiler")
done
[ ${#used[@]} -gt 0 ] || { echo "no C++ compiler found" && exit 1; }

while IFS= read -r -d '' header; do
  count=$((count + 1))
  for compiler in "${used[@]}"; do
    compile_alone "$compiler" c++ c++20 "$header"
    [[ $header != *.h ]] || compile_alone "$(c_compiler_of "$compiler")" c c11 "$header"
  done
done < <(cd "$include" && find . -type f \( -name '*.hpp' -o -name '*.h' \) -printf '%P\0' | sort -z)
[ $failed = 0 ] || exit 1
echo "headers: $count compile alone (${used[*]})"
