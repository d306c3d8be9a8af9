# The first process of a node: makes its own mounts and waits until it is killed, which ends all processes of the node.
# Arguments: the node's folder, which has run, lib, log, opt and work.
set -eu
folder=$1
mount --bind "$folder/run" /run
mount --bind "$folder/lib" /var/lib
mount --bind "$folder/log" /var/log
mount -t overlay -o "lowerdir=/opt,upperdir=$folder/opt,workdir=$folder/work" overlay /opt
# The cgroups that this process was in when its namespace was made are the roots of the node's.
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
  # The same file system can't be mounted over itself.
  umount --recursive /sys/fs/cgroup
  mount -t cgroup2 none /sys/fs/cgroup
else
  mount -t tmpfs cgroups /sys/fs/cgroup
  for names in $(cut -d: -f2 /proc/self/cgroup); do
    at=/sys/fs/cgroup/${names#name=}
    mkdir "$at"
    case $names in
      name=*) mount -t cgroup -o "none,$names" "${names#name=}" "$at" ;;
      *) mount -t cgroup -o "$names" "$names" "$at" ;;
    esac
  done
fi
# kubelet's and containerd's mounts have to reach each other.
mount --make-rshared /
touch "$folder/ready"
exec sleep infinity
