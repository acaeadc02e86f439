# ./dev check: what can be said about the sources without running them. Sourced by ./dev.
# SPDX-License-Identifier: Apache-2.0

# Files of the project, tracked or new, whose name matches one of the patterns.
project_files() { (cd "$root" && git ls-files -z -co --exclude-standard -- "$@" | sort -zu); }

cpp_patterns=('*.c' '*.cc' '*.cpp' '*.h' '*.hpp' '*.inc')

# The sources are laid out by version 14, and other versions lay some constructs out otherwise: theirs is no judgement.
check_format() {
  local tool
  tool=$(newest_of clang-format) || die "clang-format is missing (./dev deps check)"
  if ! is_version_14 "$tool"; then
    say "format: not judged, there is no clang-format-14 here; $("$tool" --version) would lay out otherwise:" \
      "$(project_files "${cpp_patterns[@]}" | existing_only |
        (cd "$root" && xargs -0 -r "$tool" --dry-run --style=file 2>&1 | grep -o '^[^:]*: *' | sort -u | wc -l)) files"
    return 0
  fi
  project_files "${cpp_patterns[@]}" | existing_only |
    (cd "$root" && xargs -0 -r "$tool" --dry-run -Werror --style=file) ||
    { say "./dev format puts the layout right" && return 1; }
}

is_version_14() { [[ $("$1" --version) == *"version 14."* ]]; }

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
  local tool
  tool=$(newest_of clang-format) || die "clang-format is missing (./dev deps check)"
  is_version_14 "$tool" || die "the sources are laid out by clang-format 14, and $("$tool" --version) would change lines" \
    "that are right; take a Debian 12, or lay your lines out by hand"
  project_files "${cpp_patterns[@]}" | existing_only | (cd "$root" && xargs -0 -r "$tool" -i --style=file)
}

# Clang has to know how each file is compiled, which a configured build states.
check_with_build() {
  parse_build_options positional
  if [ ! -f "$build_dir/compile_commands.json" ]; then
    (build_tree) || return 1
  fi
  python3 "$root/tools/check_$1.py" --build "$build_dir"
}

command_check() {
  [ $# -eq 0 ] || usage_error "'check' takes nothing"
  install_packages build openmpi check
  local step failed=()
  for step in format layers picture sizes modules text words headers threads tidy; do
    say "check: $step"
    case $step in
      format) (check_format) ;;
      picture) python3 "$root/tools/draw_layers.py" --check ;;
      headers) "$root/tools/check_headers.sh" ;;
      threads | tidy) (check_with_build "$step") ;;
      *) python3 "$root/tools/check_$step.py" ;;
    esac || failed+=("$step")
  done
  [ ${#failed[@]} -eq 0 ] || die "check failed: ${failed[*]}"
  say "check: all good"
}
