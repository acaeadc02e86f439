# Which Debian packages are missing, and installing them. Sourced by ./dev.
# SPDX-License-Identifier: Apache-2.0

package_groups() { awk '!/^#/ && NF == 2 { print $1 }' "$root/tools/dev/packages.txt" | sort -u; }

# The packages of the named groups; alternatives as A|B.
packages_of() {
  local group
  for group in "$@"; do
    awk -v group="$group" '!/^#/ && $1 == group { print $2 }' "$root/tools/dev/packages.txt"
  done
}

# The groups that a build with these options needs.
groups_of_build() {
  echo build
  [ "$1" = none ] || echo "$1"
  [ "$2" = gcc ] || echo "$2"
}

is_installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# installed_of A|B: the first of them that is installed.
installed_of() {
  local package
  for package in ${1//|/ }; do
    is_installed "$package" && echo "$package" && return 0
  done
  return 1
}

missing_packages() {
  local package
  for package in $(packages_of "$@"); do
    installed_of "$package" >/dev/null || echo "$package"
  done
}

# available_of A|B: the first that apt-get could install; the first where none is known.
# grep reads to the end: apt-cache that is cut off fails, and pipefail with it.
available_of() {
  local package
  for package in ${1//|/ }; do
    apt-cache policy "$package" 2>/dev/null | grep '^  Candidate: [^(]' >/dev/null && echo "$package" && return 0
  done
  echo "${1%%|*}"
}

# As they are named in messages.
in_words() { printf '%s' "$*" | sed 's/|/ or /g'; }

# Runs a command as root: as it is, or through sudo (without asking where nobody can answer).
as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif [ -t 0 ]; then
    sudo "$@"
  else
    sudo -n "$@"
  fi
}

# Installs what the groups lack; says nothing when there is nothing to do.
install_packages() {
  if ! command -v dpkg-query >/dev/null; then
    say "this is no Debian; these must be there by other means: $(in_words "$(packages_of "$@" | xargs)")"
    return 0
  fi
  local missing
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
    die "these Debian packages are missing, and installing them needs root or sudo: $(in_words "${missing[@]}")"
  fi
  say "installing with apt-get: $(in_words "${missing[@]}")"
  # A list that cannot be refreshed is no reason to stop: the old one may do, and apt-get install says if not.
  as_root apt-get update -q || say "apt-get update failed; going on with the lists that are here"
  local package chosen=()
  for package in "${missing[@]}"; do chosen+=("$(available_of "$package")"); done
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${chosen[@]}" ||
    die "apt-get could not install: ${chosen[*]}"
}

# For commands that do not install by themselves.
require_packages() {
  command -v dpkg-query >/dev/null || return 0
  local missing
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -eq 0 ] || die "missing Debian packages: $(in_words "${missing[@]}") (./dev deps $* installs them)"
}

command_deps() {
  [ $# -gt 0 ] || set -- build openmpi test
  local group
  for group in "$@"; do
    is_one_of "$group" $(package_groups) || usage_error "no package group '$group' ($(package_groups | xargs))"
  done
  install_packages "$@"
  local package present=()
  for package in $(packages_of "$@"); do present+=("$(installed_of "$package" || in_words "$package")"); done
  say "present: ${present[*]}"
}
