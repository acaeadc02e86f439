# Configure, build, install. Sourced by ./dev.

# The compilers' paths for `--cc gcc|clang`.
compiler_paths() {
  local c cxx
  case $1 in
    gcc) c=$(command -v gcc) cxx=$(command -v g++) ;;
    clang)
      c=$(command -v clang-14 || command -v clang)
      cxx=$(command -v clang++-14 || command -v clang++)
      ;;
  esac || true
  [ -n "$c" ] && [ -n "$cxx" ] || die "no $1 compiler for C and C++ found"
  printf '%s\n%s\n' "$c" "$cxx"
}

# build_tree [TARGET…]: configures and builds $preset, $mpi, $cc in $build_dir, all of it or the targets. CMAKE_BUILD_PARALLEL_LEVEL bounds the
# jobs, as CMake has it.
build_tree() {
  require_packages $(groups_of_build "$mpi" "$cc")
  local compilers log
  mapfile -t compilers < <(compiler_paths "$cc")
  [ ${#compilers[@]} -eq 2 ] || exit 1
  mkdir -p "$build_dir"
  log=$build_dir/configure.log
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
  build_tree
  # From the caller's folder, so that a relative prefix means what it says there.
  cmake --install "$build_dir" --prefix "$(realpath -m "$prefix")" || die "installing into $prefix failed"
}

command_dir() {
  parse_build_options positional "$@"
  no_more_words dir
  build_dir_name "$preset" "$mpi" "$cc"
  echo
}
