# ./dev lab: jobs on several hosts of this machine, and in a guest. The work is done by tools/lab. Sourced by ./dev.
# SPDX-License-Identifier: Apache-2.0

# Runs a command as root, with the caller's environment: jobs are to find what their user has set.
as_root_with_environment() {
  local variables
  mapfile -d '' variables < <(env -0)
  if [ "$(id -u)" = 0 ]; then
    exec "$@"
  elif ! command -v sudo >/dev/null; then
    die "a lab needs root: run ./dev lab as root, or install sudo"
  elif [ -t 0 ]; then
    exec sudo env "${variables[@]}" "$@"
  else
    exec sudo -n env "${variables[@]}" "$@"
  fi
}

# A guest needs packages, but not root. Where they cannot be installed, tools/lab states what is missing and is skipped.
# `test` takes the options of a build, and builds.
command_guest() {
  local preset mpi cc build_dir rest more=()
  if ! is_one_of --help "$@" && ! is_one_of -h "$@"; then
    if [ -z "$(ls /sys/class/infiniband 2>/dev/null)" ]; then
      (install_packages guest) >&2 || say "going on without them"
    fi
    if [ "${1-}" = test ]; then
      parse_build_options options "$@"
      set -- "${rest[@]}"
      (install_packages $(groups_of_build "$mpi" "$cc") test) >&2
      build_tree >&2
      more=(--build "$build_dir")
    fi
  fi
  exec python3 -B "$root/tools/lab/lab" guest "$@" "${more[@]}"
}

command_lab() {
  local preset mpi cc build_dir rest
  if [ "${1-}" = guest ]; then
    shift
    command_guest "$@"
  fi
  # The delay line is only built for a lab that may need it.
  if [ "${1-}" = up ] && [[ " $* " == *" --delay"* || " $* " == *" --wire"* ]] &&
    ! is_one_of --help "$@" && ! is_one_of -h "$@"; then
    parse_build_options options
    build_tree lab_delay_line >&2
  fi
  as_root_with_environment python3 -B "$root/tools/lab/lab" "$@"
}
