# ./dev test --release NAME: a command of ./dev on another release of Debian, in a chroot. Sourced by ./dev.
#
# debootstrap makes the chroot once, in build/debian-NAME/root; it is kept for the next run, with a build folder and a
# compiler cache of its own. Every mount and process of a run is in namespaces that end with the run, also after a failure,
# Ctrl-C or a kill of ./dev: there is nothing to undo.
# SPDX-License-Identifier: Apache-2.0

# The repository of Debian that this machine's apt uses; nothing where apt has none (then debootstrap has a default).
debian_mirror() { apt-get indextargets --format '$(REPO_URI)' 'Label: Debian' 2>/dev/null | sort -u | head -n 1; }

# require_release NAME: what can be said before anything is made.
require_release() {
  is_one_of "$1" bookworm trixie || usage_error "no release '$1' (bookworm, trixie)"
  [ "$(id -u)" = 0 ] || die "--release makes a chroot, and only root can: run it as root, or ./dev test without --release"
  install_packages release
  in_namespaces true 2>/dev/null ||
    die "--release needs mount and process namespaces of its own, and this root cannot make them (a container without" \
      "CAP_SYS_ADMIN?): run it on the host, or ./dev test without --release"
}

# in_namespaces COMMAND…: with mounts and processes of its own. All end when the command ends, and when ./dev does: its end
# kills unshare, and unshare's end kills the first process of the namespace, which takes every other one along.
in_namespaces() { setpriv --pdeathsig KILL unshare --mount --propagation private --pid --fork --kill-child "$@"; }

# make_release NAME: build/debian-NAME/root, complete or not at all.
make_release() {
  local name=$1 folder=$root/build/debian-$1 mirror
  [ ! -f "$folder/complete" ] || return 0
  mirror=$(debian_mirror)
  say "making a Debian $name in ${folder#"$root"/} (about 400 MiB, once)"
  rm -rf --one-file-system "$folder/root"
  mkdir -p "$folder/root" "$folder/build" "$folder/ccache"
  in_namespaces debootstrap --variant=minbase --include=ca-certificates "$name" "$folder/root" ${mirror:+"$mirror"} \
    >"$folder/debootstrap.log" 2>&1 || {
    tail -n 5 "$folder/debootstrap.log" >&2
    die "debootstrap could not make a Debian $name (${folder#"$root"/}/debootstrap.log has the rest)"
  }
  # Packages must not start services, and apt reaches the repository as it does here (by a proxy, for one).
  printf '#!/bin/sh\nexit 101\n' >"$folder/root/usr/sbin/policy-rc.d"
  chmod 755 "$folder/root/usr/sbin/policy-rc.d"
  apt-config dump | grep -E '^Acquire::(http|https|Check)' >"$folder/root/etc/apt/apt.conf.d/00host" || true
  touch "$folder/complete"
}

# The first process of a run's namespaces: mounts, then the command, on the sources at their usual path.
# $1: the release's folder, $2: the sources, $3: git's folder, the rest: the command.
# The first process of a namespace ignores every signal that it does not trap; Ctrl-C reaches the others as well.
inside_release='
  set -e
  trap "exit 130" INT
  trap "exit 143" TERM HUP
  folder=$1 sources=$2 git=$3 base=$1/root
  shift 3
  # A root that is a mount of its own: namespaces are refused where it is none.
  mount --bind "$base" "$base"
  mount -t proc proc "$base/proc"
  mount --rbind /sys "$base/sys"
  mount --rbind /dev "$base/dev"
  mount -t tmpfs tmpfs "$base/dev/shm"
  mount -t tmpfs tmpfs "$base/tmp"
  cp -L /etc/resolv.conf /etc/hosts "$base/etc/" 2>/dev/null || true
  mkdir -p "$base$sources" "$base/ccache"
  mount --bind "$sources" "$base$sources"
  mount --bind "$folder/build" "$base$sources/build"
  mount --bind "$folder/ccache" "$base/ccache"
  case $git/ in
    "$sources"/*) ;;
    *) mkdir -p "$base$git" && mount --bind "$git" "$base$git" ;;  # of a worktree
  esac
  status=0
  chroot "$base" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
    TERM="${TERM:-dumb}" CCACHE_DIR=/ccache CCACHE_BASEDIR="$sources" DEBIAN_FRONTEND=noninteractive \
    ${CMAKE_BUILD_PARALLEL_LEVEL:+CMAKE_BUILD_PARALLEL_LEVEL="$CMAKE_BUILD_PARALLEL_LEVEL"} \
    bash -c '\''cd "$1" && shift && { ! command -v git >/dev/null || git config --global safe.directory "*"; } && exec "$@"'\'' \
    - "$sources" "$@" || status=$?
  exit $status
'

# run_in_release NAME WORD…: `./dev WORD…` on that release, with the packages of both MPIs and of the tests. One run at a time.
run_in_release() {
  local name=$1 folder=$root/build/debian-$1 git lock run status=0
  shift
  ! is_one_of --release "$@" || usage_error "--release is given twice"
  require_release "$name"
  mkdir -p "$folder" && exec {lock}>"$folder/lock"
  flock --nonblock "$lock" || die "another ./dev runs on Debian $name in ${folder#"$root"/}: wait for its end"
  make_release "$name" {lock}>&-
  git=$(git -C "$root" rev-parse --path-format=absolute --git-common-dir 2>/dev/null) || git=$root
  run=(bash -c "$inside_release" - "$folder" "$root" "$git")
  in_namespaces "${run[@]}" ./dev deps build openmpi mpich test {lock}>&- || die "Debian $name lacks packages"
  say "Debian $name: ./dev $*"
  in_namespaces "${run[@]}" ./dev "$@" {lock}>&- || status=$?
  return $status
}
