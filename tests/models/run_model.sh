#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run_model.sh MODEL EXPECT [-DNAME=VALUE…]: checks one model exhaustively with spin.
# EXPECT is "holds" (no error may be found) or "fails" (one must be). Everything is made in a folder of its own.
set -eu
model=$1 expect=$2
shift 2
source=$(cd "$(dirname "$model")" && pwd)
name=$(basename "$model")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
cd "$work"
cp "$source"/*.pml .
spin "$@" -a "$name"
gcc -O2 -DSAFETY -DCOLLAPSE -DMEMLIM=2000 -o pan pan.c
./pan -m200000 >answer 2>&1 || true
cat answer
if grep -q "errors: 0" answer; then
  found=holds
elif grep -q "errors: [1-9]" answer; then
  found=fails
else
  echo "the check did not come to an end"
  exit 1
fi
if grep -q -e "max search depth too small" -e "out of memory" -e "Search not completed" answer && [ "$found" = holds ]; then
  echo "the search was cut short"
  exit 1
fi
echo "expected: $expect, found: $found"
[ "$found" = "$expect" ]
