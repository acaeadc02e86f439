# What every piece of ./dev uses: messages, and the options that choose a build. Sourced; needs $root.
# SPDX-License-Identifier: Apache-2.0

say() { printf 'dev: %s\n' "$*" >&2; }

die() {
  printf 'dev: error: %s\n' "$*" >&2
  exit 1
}

# The caller's mistake: exit 2.
usage_error() {
  printf 'dev: error: %s\n(./dev help lists what there is)\n' "$*" >&2
  exit 2
}

is_one_of() {
  local wanted=$1 word
  shift
  for word in "$@"; do
    [ "$word" = "$wanted" ] && return 0
  done
  return 1
}

# Takes `[preset] [--mpi M] [--cc C] [--preset P]` off the arguments. Sets preset, mpi, cc, build_dir; what is left goes to
# the array `rest`. With $1 = "positional", the first free word is the preset; with "options", free words stay in `rest`.
parse_build_options() {
  local style=$1 named=""
  shift
  preset=release mpi=openmpi cc=gcc
  rest=()
  while [ $# -gt 0 ]; do
    case $1 in
      --mpi | --cc | --preset)
        [ $# -ge 2 ] || usage_error "$1 needs a value"
        case $1 in
          --mpi) mpi=$2 ;;
          --cc) cc=$2 ;;
          --preset) preset=$2 ;;
        esac
        shift 2
        ;;
      --mpi=* | --cc=* | --preset=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" ;;
      *)
        if [ "$style" = positional ] && [ -z "$named" ] && [ "${1#-}" = "$1" ]; then
          preset=$1 named=yes
        else
          rest+=("$1")
        fi
        shift
        ;;
    esac
  done
  is_one_of "$preset" release debug asan tsan || usage_error "no preset '$preset' (release, debug, asan, tsan)"
  is_one_of "$mpi" openmpi mpich none || usage_error "no MPI '$mpi' (openmpi, mpich, none)"
  is_one_of "$cc" gcc clang || usage_error "no compiler '$cc' (gcc, clang)"
  build_dir=$root/$(build_dir_name "$preset" "$mpi" "$cc")
}

# build/<preset>, and -<mpi> and -<compiler> where they are not the usual ones.
build_dir_name() {
  local name=build/$1
  [ "$2" = openmpi ] || name+=-$2
  [ "$3" = gcc ] || name+=-$3
  printf '%s' "$name"
}

# newest_of TOOL: the path of LLVM's TOOL: version 14, which Debian 12 has and the sources are laid out with, else the
# system's own choice, else the newest with a number.
newest_of() {
  local names
  names=$(compgen -c "$1-" | grep -E "^$1-[0-9]+\$" | sort -u -t- -k "$(($(tr -cd - <<<"$1" | wc -c) + 2))nr" || true)
  local name
  for name in "$1-14" "$1" $names; do
    command -v "$name" && return 0
  done
  return 1
}

no_more_words() {
  [ ${#rest[@]} -eq 0 ] || usage_error "'$1' does not take '${rest[0]}'"
}
