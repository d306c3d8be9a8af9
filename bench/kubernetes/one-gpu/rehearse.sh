#!/usr/bin/env bash
# Rehearses the calls for a machine with a GPU here, and beside.ts, on the software GPU: in a guest with a kernel of its own, cgroup v2
# alone, Debian's smallest system, no network and no Node. The guest is user-mode Linux, a process of this machine with one
# CPU, since KVM is not everywhere and other emulation is ten times slower. As root. Needs mmdebstrap and Debian's packages
# user-mode-linux (or UML=its unpacked folder) and e2fsprogs; removes all but OUT when it ends.
# Usage: bench/kubernetes/one-gpu/rehearse.sh PACKS OUT [options of one-gpu.ts]; MEMORY=MiB of the guest (5120).
set -euo pipefail
packs=$(realpath "${1:?"rehearse.sh: name the folder of pack.sh"}")
mkdir -p "${2:?"rehearse.sh: name the folder for results"}"
out=$(realpath "$2")
shift 2
cd "$(dirname "$0")/../../.."
uml=${UML:-}
work=$(mktemp -d "${TMPDIR:-/var/tmp}/rehearse.XXXXXX")
trap 'rm -rf "$work"' EXIT
system=${XDG_CACHE_HOME:-$HOME/.cache}/cotenant/one-gpu/guest.tar
if [ ! -e "$system" ]; then
  mkdir -p "$(dirname "$system")"
  mmdebstrap --quiet --mode=root --variant=minbase --include=kmod,iproute2,xz-utils,python3-minimal bookworm "$work/guest.tar"
  mv "$work/guest.tar" "$system"
fi
mkdir "$work/root"
tar --extract -C "$work/root" --file "$system"
cp bench/kubernetes/one-gpu/guest.sh "$work/root/init"
mkdir -p "$work/root"/mnt/{repository,packs,out}
printf '%s\n' "$@" >"$work/root/options"
truncate --size 8G "$work/disk"
mke2fs -q -t ext4 -O ^has_journal -d "$work/root" "$work/disk"
rm -rf "$work/root" "$out/passed"
gcc -shared -fPIC -O2 -o "$work/registers.so" bench/kubernetes/one-gpu/registers.c
TMPDIR=/dev/shm LD_PRELOAD="$work/registers.so" "$uml/usr/bin/linux.uml" "mem=${MEMORY:-5120}M" "ubd0=$work/disk" root=/dev/ubda rw init=/init quiet con=null con0=null,fd:1 \
  "repository=$PWD" "packs=$packs" "out=$out" </dev/null
[ -e "$out/passed" ]
