# The first process of a node: makes its own mounts and waits until it is killed, which ends all processes of the node.
# Arguments: the node's folder, which has run, lib, log and opt.
set -eu
folder=$1
mount --bind "$folder/run" /run
mount --bind "$folder/lib" /var/lib
mount --bind "$folder/log" /var/log
# The machine's /opt, but for Cotenant, and with what is mounted below it, which an overlay would not have.
for path in /opt/*; do
  own=$folder/opt/${path##*/}
  case $path in
    /opt/cotenant | '/opt/*') continue ;;
  esac
  if [ -L "$path" ]; then
    cp -P "$path" "$own"
  else
    if [ -d "$path" ]; then mkdir "$own"; else touch "$own"; fi
    mount --rbind "$path" "$own"
  fi
done
mount --rbind "$folder/opt" /opt
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
