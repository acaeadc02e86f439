# demo, test, soak, bench: what runs the programs of a build. Sourced by ./dev.
# SPDX-License-Identifier: Apache-2.0

# The LU factorization that the demo runs: big enough to show something, small enough for a laptop.
demo_command=(bin/grapnel run -n 4 --nodes 2 -- bin/lu --n 512 --block 32 --dist node --verify)

command_demo() {
  parse_build_options positional "$@"
  no_more_words demo
  install_packages $(groups_of_build "$mpi" "$cc")
  build_tree grapnel lu  # what is shown, not the tests and benchmarks: a new user waits a fifth of the time
  local program
  for program in grapnel lu; do
    [ -x "$build_dir/bin/$program" ] || die "the build made no bin/$program, so there is nothing to show yet"
  done
  say "running: ${demo_command[*]}"
  (cd "$build_dir" && exec "${demo_command[@]}")
}

# run_ctest_within MINUTES ctest-arguments…: what runs at the limit is ended and fails; what has not begun by then is
# not run.
run_ctest_within() {
  local minutes=$1
  shift
  run_ctest --stop-time "$(date -d "+$minutes minutes" '+%H:%M:%S')" "$@"
}

# Four at a time where they say that they need one processor (PROCESSORS): on two processors half of the tests' time is
# jobs that start, end or sleep. Simulated worlds with a sanitizer, which is most of what such a build runs, never sleep.
run_ctest() {
  local status=0 planned jobs=4
  [ "$preset" = release ] || jobs=2
  planned=$(ctest --test-dir "$build_dir" -N "$@" | sed -n 's/^Total Tests: //p')
  ctest --test-dir "$build_dir" -j "$jobs" --output-on-failure --no-tests=error "$@" || status=$?
  tell_worlds "$build_dir/Testing/Temporary/LastTest.log" "$planned"
  return $status
}

# What ctest keeps to itself: which worlds with how many ranks on how many nodes ran, what was skipped, why, and what did
# not begin in time, of so many that were to run.
tell_worlds() {
  [ -f "$1" ] || return 0
  say "worlds that ran (ranks/nodes), and what was skipped:"
  awk -v planned="$2" '
    /^worlds: / {
      world = $2
      tests[world] += $3
      for (i = 6; i <= NF; ++i) if (!seen[world, $i]++) shapes[world] = shapes[world] " " $i
    }
    /^skipped: / { skips[$0]++ }
    reason { sub(/^ +/, ""); skips["skipped: " $0]++; reason = 0 }
    /: Skipped$/ { reason = 1 }
    /^[0-9]+\/[0-9]+ Testing: / { ++begun }
    END {
      for (world in tests) printf "  %s %d tests:%s\n", world, tests[world], shapes[world]
      for (skip in skips) printf "  %s (%d times)\n", skip, skips[skip]
      if (begun < planned) printf "  the time was over before %d of %d began\n", planned - begun, planned
    }' "$1" | sort >&2
}

# Minutes and pattern of ./dev test. ctest is told a time of day, so a limit is less than a day.
check_test_words() {
  [[ $1 =~ ^[1-9][0-9]{0,3}$ ]] && [ "$1" -lt 1440 ] || usage_error "--minutes takes a number from 1 to 1439, not '$1'"
  local word
  for word in "${@:2}"; do
    [ "${word#-}" = "$word" ] || usage_error "'test' has no option '$word'"
  done
}

command_test() {
  local full="" label="" minutes=20 words=() all=("$@") i
  while [ $# -gt 0 ]; do
    case $1 in
      --full) full=yes && shift ;;
      --label | --minutes)
        [ $# -ge 2 ] || usage_error "$1 needs a value"
        [ "$1" = --label ] && label=$2 || minutes=$2
        shift 2
        ;;
      --release)
        [ $# -ge 2 ] || usage_error "$1 needs a value"
        i=$((${#all[@]} - $#))
        run_in_release "$2" test "${all[@]:0:i}" "${all[@]:i+2}"
        return
        ;;
      *) words+=("$1") && shift ;;
    esac
  done
  parse_build_options options "${words[@]}"
  check_test_words "$minutes" "${rest[@]}"
  [ ${#rest[@]} -le 1 ] || usage_error "'test' takes one pattern, not '${rest[*]}'"
  if [ -n "$full" ]; then
    [ ${#words[@]} -eq 0 ] && [ -z "$label" ] || usage_error "'test --full' takes nothing else"
    test_everything
    return
  fi
  install_packages $(groups_of_build "$mpi" "$cc") test
  case $label in
    sim | free) build_tree "${label}_tests" ;;
    *) build_tree ;;
  esac
  # With a label or a pattern also those that only CI runs each time.
  local left_out='^(full|soak|slow)$'
  [ -z "$label${rest:-}" ] || left_out='^(full|soak)$'
  run_ctest_within "$minutes" -LE "$left_out" ${label:+-L "^$label\$"} ${rest:+-R "${rest[0]}"}
}

# Every compiler with every MPI, then the debug and sanitizer presets with both compilers. Goes on after a failure.
test_everything() {
  install_packages build openmpi mpich clang test
  local failed=0 one results=()
  for one in release:{openmpi,mpich,none}:{gcc,clang} {debug,asan,tsan}:openmpi:{gcc,clang}; do
    IFS=: read -r preset mpi cc <<<"$one"
    build_dir=$root/$(build_dir_name "$preset" "$mpi" "$cc")
    if (build_tree && run_ctest_within 90 -LE '^soak$'); then
      results+=("ok      $one")
    else
      results+=("FAILED  $one") failed=1
    fi
  done
  say "every combination of preset, MPI and compiler:"
  printf '%s\n' "${results[@]}"
  return $failed
}

command_soak() {
  parse_build_options positional "$@"
  no_more_words soak
  install_packages $(groups_of_build "$mpi" "$cc") test
  build_tree
  [ "$(count_tests soak)" -gt 0 ] || die "no test has the label 'soak' yet"
  run_ctest -L '^soak$'
}

# How many tests of $build_dir have this label.
count_tests() { ctest --test-dir "$build_dir" -N -L "^$1\$" | sed -n 's/^Total Tests: //p'; }

# Sets `words` to a scenario and its options: rma where none is named. What is asked of no scenario is only help.
name_scenario() {
  [ $# -gt 0 ] || set -- rma
  case $1 in
    rma | peers | sync | locks | dse | dsm | instructions | windows | fabric | --help | -h) words=("$@") ;;
    -*) words=(rma "$@") ;;
    *) usage_error "no scenario '$1' (rma, peers, sync, locks, dse, dsm, instructions, windows, fabric)" ;;
  esac
}

# Everything but --plot DIR is grapnel-bench's. The pictures are made of its JSON, also when a row falls short.
command_bench() {
  if [ "${1-}" = heat ]; then
    shift
    draw_heat "$@"
    return
  fi
  local preset mpi cc build_dir rest plot="" json="" words=()
  while [ $# -gt 0 ]; do
    case $1 in
      --plot | --json)
        [ $# -ge 2 ] || usage_error "$1 needs a value"
        [ "$1" = --plot ] && plot=$2 || json=$2
        shift 2
        ;;
      --plot=* | --json=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" ;;
      *) words+=("$1") && shift ;;
    esac
  done
  name_scenario "${words[@]}"
  parse_build_options options
  install_packages build openmpi ${plot:+plot}
  build_tree
  [ -x "$build_dir/bin/grapnel-bench" ] || die "the build made no bin/grapnel-bench"
  if [ -n "$plot" ]; then
    mkdir -p "$plot" || die "cannot make the folder $plot"
    json=${json:-$plot/${words[0]}.json}
    rm -f "$json"
  fi
  local outcome=0 python
  if [ "${words[0]}" = instructions ]; then
    [ -z "$plot" ] || usage_error "'bench instructions' has no pictures"
    count_instructions "${words[@]:1}" ${json:+--json "$json"}
    return
  fi
  case ${words[0]} in
    fabric) measure_fabric "${words[@]:1}" || outcome=$? ;;
    windows) measure_windows "${words[@]:1}" ${json:+--json "$json"} || outcome=$? ;;
    *) "$build_dir/bin/grapnel-bench" "${words[@]}" ${json:+--json "$json"} || outcome=$? ;;
  esac
  if [ -n "$plot" ] && [ -s "$json" ]; then
    python=$(python_with matplotlib)
    "$python" -B "$root/bench/plots/plot.py" "$json" --out "$plot"
  fi
  return $outcome
}

# draw_heat FILE [--plot DIR|PICTURE.png]: needs no build.
draw_heat() {
  local file="" plot=.
  while [ $# -gt 0 ]; do
    case $1 in
      --plot)
        [ $# -ge 2 ] || usage_error "$1 needs a value"
        plot=$2
        shift 2
        ;;
      --plot=*) set -- --plot "${1#*=}" "${@:2}" ;;
      -*) usage_error "'bench heat' has no option '$1'" ;;
      *)
        [ -z "$file" ] || usage_error "'bench heat' takes one file, not '$file' and '$1'"
        file=$1 && shift
        ;;
    esac
  done
  [ -n "$file" ] || usage_error "'bench heat' needs the file that GRAPNEL_DSM_REPORT named"
  [ "${plot%.png}" != "$plot" ] || plot=$plot/$(basename "${file%.json}").png
  install_packages plot
  local python
  python=$(python_with matplotlib)
  "$python" -B "$root/bench/plots/heat.py" "$file" --out "$plot"
}

# bench/instructions/count.py says what is counted, and its options.
count_instructions() {
  install_packages counts
  local program programs=()
  for program in instruction_calls instruction_armci_calls instruction_window_calls; do
    if [ -x "$build_dir/bench/$program" ]; then
      programs+=(--program "$build_dir/bench/$program")
    else
      say "no rows of $program: this build has no MPI (--mpi)"
    fi
  done
  python3 -B "$root/bench/instructions/count.py" "${programs[@]}" --bars "$root/bench/bars.toml" "$@"
}

# bench/fabric/fabric.py has the rows and options. In a guest where this machine has no RDMA devices. The caller's `json` is where
# the rows are to be.
measure_fabric() {
  local out status=0
  install_packages guest
  out=$(mktemp -d)
  python3 -B "$root/tools/lab/lab" guest run --devices 8 --timeout 900 --out "$out" -- \
    python3 -B "$root/bench/fabric/fabric.py" --build "$build_dir" --json "$out/rows.json" "$@" || status=$?
  [ -z "$json" ] || [ ! -f "$out/rows.json" ] || cp "$out/rows.json" "$json" || status=1
  rm -rf "$out"
  return $status
}

# bench/windows/windows.py has the rows and options. libgrapnel-mpi is measured with each MPI for which it is built.
measure_windows() {
  local one library libraries=()
  for one in openmpi mpich; do
    library=$root/$(build_dir_name release "$one" gcc)/lib/libgrapnel-mpi.so
    [ ! -f "$library" ] || libraries+=(--library "$one=$library")
  done
  python3 -B "$root/bench/windows/windows.py" --programs "$build_dir/peers" "${libraries[@]}" \
    --bars "$root/bench/bars.toml" "$@"
}

# A Python that has the module: the first on the path may be none of Debian's.
python_with() {
  local python
  for python in python3 /usr/bin/python3; do
    "$python" -c "import $1" 2>/dev/null && printf '%s\n' "$python" && return 0
  done
  die "no python3 has the module $1 (Debian: python3-$1)"
}
