# Becomes the first process of a node, init.sh: joins the node's cgroups before its namespaces are made, so that they are the
# roots there, and with cgroup v2 the one below, in which its processes are. Arguments: the node's folder, files of cgroups.
set -eu
folder=$1
if [ "$folder" = below ]; then
  [ ! -e "${3%/*}/init" ] || echo $$ >"${3%/*}/init/cgroup.procs"
  exec unshare --mount --pid --fork --kill-child --mount-proc sh "${0%/*}/init.sh" "$2"
fi
shift
for file in "$@"; do echo $$ >"$file"; done
exec unshare --cgroup sh "$0" below "$folder" "$1"
