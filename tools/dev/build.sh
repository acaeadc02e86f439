# Configure, build, install. Sourced by ./dev.
# SPDX-License-Identifier: Apache-2.0

# The compilers' paths for `--cc gcc|clang`.
compiler_paths() {
  local c cxx
  case $1 in
    gcc) c=$(command -v gcc) cxx=$(command -v g++) ;;
    clang) c=$(newest_of clang) cxx=$(newest_of clang++) ;;
  esac || true
  [ -n "$c" ] && [ -n "$cxx" ] || die "no $1 compiler for C and C++ found"
  printf '%s\n%s\n' "$c" "$cxx"
}

# A folder that was configured in another place (the clone was moved, or copied with it) is configured anew: CMake refuses
# it. What ccache knows is not compiled again.
forget_other_clone() {
  local home
  [ -f "$build_dir/CMakeCache.txt" ] || return 0
  home=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$build_dir/CMakeCache.txt")
  [ "$home" != "$root" ] && [ ! "$home" -ef "$root" ] || return 0
  say "$(build_dir_name "$preset" "$mpi" "$cc") was configured for the clone in ${home:-another place}; configuring it anew"
  rm -rf "$build_dir/CMakeCache.txt" "$build_dir/CMakeFiles"
}

# Before a long build: can what it makes be installed there?
check_prefix() {
  local prefix at
  prefix=$(realpath -m "$1")
  at=$prefix
  while [ ! -e "$at" ]; do at=$(dirname "$at"); done
  [ -d "$at" ] || die "cannot install into $1: $at is no folder"
  local try
  for at in "$at" "$prefix/include" "$prefix/lib" "$prefix/bin"; do
    [ -e "$at" ] || continue
    # Not by asking for the permission: a file system may be read-only, or none that takes files.
    try=$(mktemp -d "$at/.grapnel-XXXXXX" 2>/dev/null) && rmdir "$try" ||
      die "cannot install into $1: $(id -un) cannot write in $at; choose another prefix, or run this as its owner"
  done
}

# build_tree [TARGET…]: configures and builds $preset, $mpi, $cc in $build_dir, all of it or the targets. CMAKE_BUILD_PARALLEL_LEVEL bounds the
# jobs, as CMake has it.
build_tree() {
  require_packages $(groups_of_build "$mpi" "$cc")
  local compilers log
  mapfile -t compilers < <(compiler_paths "$cc")
  [ ${#compilers[@]} -eq 2 ] || exit 1
  mkdir -p "$build_dir" || die "the build folder $build_dir cannot be made"
  log=$build_dir/configure.log
  forget_other_clone
  (cd "$root" && cmake --preset "$preset" -B "$build_dir" -DGRAPNEL_MPI="$mpi" \
    -DCMAKE_C_COMPILER="${compilers[0]}" -DCMAKE_CXX_COMPILER="${compilers[1]}") >"$log" 2>&1 || {
    cat "$log" >&2
    die "configuring $(build_dir_name "$preset" "$mpi" "$cc") failed"
  }
  say "building $(build_dir_name "$preset" "$mpi" "$cc")"
  cmake --build "$build_dir" ${1:+--target "$@"} || die "the build in $(build_dir_name "$preset" "$mpi" "$cc") failed"
}

command_build() {
  parse_build_options positional "$@"
  no_more_words build
  build_tree
}

command_install() {
  [ -n "${1-}" ] && [ "${1#-}" = "$1" ] || usage_error "install needs the prefix first: ./dev install PREFIX [options]"
  local prefix=$1
  shift
  parse_build_options positional "$@"
  no_more_words install
  check_prefix "$prefix"
  build_tree installed
  # From the caller's folder, so that a relative prefix means what it says there.
  cmake --install "$build_dir" --prefix "$(realpath -m "$prefix")" || die "installing into $prefix failed"
}

command_dir() {
  parse_build_options positional "$@"
  no_more_words dir
  build_dir_name "$preset" "$mpi" "$cc"
  echo
}
