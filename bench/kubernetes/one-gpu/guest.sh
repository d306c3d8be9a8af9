#!/bin/bash
# The first process of the guest that rehearse.sh starts: mounts what a machine has, then takes the same steps as the calls
# for a machine with a GPU. The kernel gives it the folders of the real machine as variables.
set -u
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root WAIT=86400
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs run /run
mount -t cgroup2 none /sys/fs/cgroup
mkdir -p /dev/shm /dev/pts
mount -t tmpfs shm /dev/shm
mount -t devpts pts /dev/pts
ip link set lo up
hostname guest
# Containers get a copy of it.
echo 127.0.0.1 localhost >/etc/hosts
# kubelet wants to know the clock of the CPUs, and user-mode Linux has none.
mount -t tmpfs cpus /sys/devices/system/cpu
mkdir -p /sys/devices/system/cpu/cpu0/{cpufreq,topology}
echo 2000000 >/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq
for file in online possible present cpu0/topology/core_id cpu0/topology/physical_package_id; do
  echo 0 >/sys/devices/system/cpu/$file
done
mount -t hostfs -o "$repository" none /mnt/repository
mount -t hostfs -o "$packs" none /mnt/packs
mount -t hostfs -o "$out" none /mnt/out
echo "the guest is up: $(uname -r), cgroup v2 with $(cat /sys/fs/cgroup/cgroup.controllers)"
mapfile -t options </options
cd /mnt/repository
bench/kubernetes/one-gpu/unpack.sh /mnt/packs soft &&
  bench/kubernetes/one-gpu/run.sh /mnt/out "${options[@]}" &&
  (. /srv/one-gpu/environment && node --import tsx bench/kubernetes/beside.ts --seconds 10 --rounds 1 >/mnt/out/beside.json) &&
  touch /mnt/out/passed
sync
echo o >/proc/sysrq-trigger
sleep 10
