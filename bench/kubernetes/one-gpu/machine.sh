#!/usr/bin/env bash
# Says what this machine lacks for one-gpu.ts, a sentence for each thing, and fails if it lacks any. It takes a second or two,
# needs nothing of the packs, and leaves nothing behind but cgroup v2, which it mounts where no cgroups are mounted.
# Usage: bench/kubernetes/one-gpu/machine.sh real|soft
set -u
gpu=${1:?"machine.sh: say real or soft"}
lacking=0
lacks() {
  echo "machine.sh: $1" >&2
  lacking=1
}
has() { command -v "$1" >/dev/null; }

[ "$(uname -m)" = x86_64 ] || lacks "its processor is $(uname -m), and the packs are for x86-64"
[ "$(id -u)" = 0 ] || { lacks "this is not root"; exit 1; }
! dmesg 2>/dev/null | grep -q gVisor || { lacks "its kernel is gVisor, which runs no containers: take a machine with a Linux kernel"; exit 1; }

# Programs of Debian's and Ubuntu's smallest systems.
for name in setpriv nsenter unshare mount umount flock mountpoint setsid ldconfig tar gzip stat; do
  has $name || lacks "the program $name is missing"
done
has xz || python3 -c 'import lzma' 2>/dev/null || lacks "neither xz nor a python3 with lzma can unpack the packs"
[ "$gpu" = soft ] || has python3 || lacks "python3 is missing"

# Kernel and the system's files.
unshare --mount --pid --cgroup --ipc --uts --net --fork --mount-proc true 2>/dev/null || lacks "it makes no namespaces (unshare fails)"
[ -c /dev/kmsg ] || lacks "/dev/kmsg is missing, without which kubelet does not start"
[ -w /proc/sys/vm/overcommit_memory ] || lacks "/proc/sys can't be written, which kubelet does when it starts"
[ $(($(cat /sys/class/net/lo/flags 2>/dev/null || echo 0) & 1)) = 1 ] || lacks "the network interface lo is down, over which all parts talk (ip link set lo up)"
free=$(df --output=avail --block-size=1M /srv 2>/dev/null | tail -n 1)
[ "${free:-0}" -ge 2048 ] || [ -e /srv/one-gpu/environment ] || lacks "/srv has ${free:-0} MiB free, and 2048 are needed"
memory=$(sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo)
[ "$memory" -ge 4000000 ] || lacks "it has $((memory / 1024)) MiB of memory, and 4 GiB are needed"

# Cgroups: v2 alone, or the hierarchies of v1.
if [ ! -e /sys/fs/cgroup/cgroup.controllers ] && [ ! -e /sys/fs/cgroup/memory ]; then
  mount -t cgroup2 none /sys/fs/cgroup 2>/dev/null
fi
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
  for name in cpu memory pids; do
    grep -qw $name /sys/fs/cgroup/cgroup.controllers || lacks "its cgroup v2 lacks the controller $name"
    # This is refused where the root is that of a container and has processes.
    { echo "+$name" >/sys/fs/cgroup/cgroup.subtree_control; } 2>/dev/null || lacks "its cgroup v2 does not give the controller $name to cgroups below /sys/fs/cgroup"
  done
  ! zgrep -q '^# CONFIG_CGROUP_BPF is not set' /proc/config.gz 2>/dev/null || lacks "its kernel lacks CONFIG_CGROUP_BPF, without which runc gives containers no devices"
else
  for name in cpu cpuset memory pids devices freezer; do
    [ -e /sys/fs/cgroup/$name/cgroup.procs ] || lacks "it has neither cgroup v2 at /sys/fs/cgroup nor the hierarchy $name of v1"
  done
fi
for at in /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/memory/cgroup.procs; do
  [ ! -e $at ] || { mkdir "${at%/*}/one-gpu-check" && rmdir "${at%/*}/one-gpu-check"; } 2>/dev/null || lacks "no cgroup can be made in ${at%/*}"
done

if [ "$gpu" = real ]; then
  for name in nvidia0 nvidiactl nvidia-uvm; do [ -c /dev/$name ] || lacks "/dev/$name is missing"; done
  # The folders in which one-gpu.ts looks for the driver's libraries, in its order.
  linked=$(ldconfig -p 2>/dev/null | sed -n 's|.*libcuda\.so\.1 (libc6,x86-64) => \(.*\)/[^/]*$|\1|p' | head -n 1)
  IFS=: read -ra folders <<<"$linked:${LD_LIBRARY_PATH:-}:/usr/local/nvidia/lib64"
  driver=
  for folder in "${folders[@]}"; do
    [ -n "$driver" ] || [ -z "$folder" ] || [ ! -e "$folder/libcuda.so.1" ] || driver=$folder
  done
  if [ -z "$driver" ]; then
    lacks "no libcuda.so.1 is known to ldconfig, in LD_LIBRARY_PATH or in /usr/local/nvidia/lib64"
  else
    [ -e "$driver/libnvidia-ml.so.1" ] || lacks "$driver has no libnvidia-ml.so.1"
    LD_LIBRARY_PATH=$driver python3 -c '
import ctypes, sys
cuda, count = ctypes.CDLL("libcuda.so.1"), ctypes.c_int()
error = cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count))
sys.exit(f"CUDA error {error}, {count.value} GPUs" if error or count.value != 1 else 0)' 2>/tmp/one-gpu-cuda ||
      lacks "python3 does not find one GPU by $driver/libcuda.so.1: $(tail -n 1 /tmp/one-gpu-cuda)"
    rm -f /tmp/one-gpu-cuda
  fi
  said=$(nvidia-smi --query-gpu=name,mig.mode.current --format=csv,noheader 2>&1) || lacks "nvidia-smi fails: $said"
  case $said in *Enabled*) lacks "its GPU is divided by MIG: $said" ;; esac
  others=$(nvidia-smi --query-compute-apps=pid --format=csv,noheader 2>/dev/null | grep -c '^[0-9]')
  [ "$others" = 0 ] || lacks "$others other programs use its GPU"
  python3 -c 'import importlib.util as u, sys; sys.exit(u.find_spec("torch") is None)' || lacks "$(command -v python3) has no PyTorch"
fi
[ $lacking = 0 ] || { echo "machine.sh: so one-gpu.ts can't run here" >&2; exit 1; }
