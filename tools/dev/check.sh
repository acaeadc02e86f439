# ./dev check: what can be said about the sources without running them. Sourced by ./dev.

# Files of the project, tracked or new, whose name matches one of the patterns.
project_files() { (cd "$root" && git ls-files -z -co --exclude-standard -- "$@" | sort -zu); }

cpp_patterns=('*.c' '*.cc' '*.cpp' '*.h' '*.hpp' '*.inc')

check_format() {
  command -v clang-format-14 >/dev/null || die "clang-format-14 is missing (./dev deps check)"
  project_files "${cpp_patterns[@]}" | existing_only |
    (cd "$root" && xargs -0 -r clang-format-14 --dry-run -Werror --style=file) ||
    { say "./dev format puts the layout right" && return 1; }
}

# A file that was removed and not yet committed is still listed by git.
existing_only() {
  local file
  while IFS= read -r -d '' file; do
    [ -f "$root/$file" ] && printf '%s\0' "$file"
  done
  return 0
}

command_format() {
  [ $# -eq 0 ] || usage_error "'format' takes nothing"
  require_packages check
  project_files "${cpp_patterns[@]}" | existing_only | (cd "$root" && xargs -0 -r clang-format-14 -i --style=file)
}

# clang-tidy wants to know how each file is compiled, which a configured build tells.
check_tidy() {
  parse_build_options positional
  if [ ! -f "$build_dir/compile_commands.json" ]; then
    (build_tree) || return 1
  fi
  python3 "$root/tools/check_tidy.py" --build "$build_dir"
}

command_check() {
  [ $# -eq 0 ] || usage_error "'check' takes nothing"
  install_packages build openmpi check
  local step failed=()
  for step in format layers sizes text headers tidy; do
    say "check: $step"
    case $step in
      format) (check_format) ;;
      headers) "$root/tools/check_headers.sh" ;;
      tidy) (check_tidy) ;;
      *) python3 "$root/tools/check_$step.py" ;;
    esac || failed+=("$step")
  done
  [ ${#failed[@]} -eq 0 ] || die "check failed: ${failed[*]}"
  say "check: all good"
}
