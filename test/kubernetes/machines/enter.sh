# Runs a program on a node: in its cgroups, too, and for as long as the process that asked for it. Arguments: the program's words.
for file in /sys/fs/cgroup/*/cgroup.procs; do echo $$ >"$file"; done
exec setpriv --pdeathsig KILL "$@"
