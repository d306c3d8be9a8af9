#!/usr/bin/env bash
# Runs one-gpu.ts on the machine with the GPU, where unpack.sh has unpacked everything. It outlives the call: a call while it
# runs waits for it again. Results and logs are copied to OUT when it has ended, or when the wait is over.
# Usage: bench/kubernetes/one-gpu/run.sh OUT [options of one-gpu.ts]; WAIT=seconds: how long one call may take (540).
set -euo pipefail
out=${1:?"run.sh: name the folder for results: run.sh OUT"}
shift
end=$((SECONDS + ${WAIT:-540}))
home=/srv/one-gpu
mkdir -p "$out"
(
  . $home/environment
  exec 9>$home/lock
  # The run has the lock for as long as it lives.
  if flock --nonblock 9; then
    rm -rf $home/tmp/results $home/log
    setsid node --import tsx bench/kubernetes/one-gpu.ts $home/tmp/results "$@" >$home/log 2>&1 </dev/null &
  fi
)
touch $home/log
shown=0
while sleep 1; do
  size=$(stat --format %s $home/log)
  [ "$size" = "$shown" ] || tail --bytes=+$((shown + 1)) $home/log | head --bytes=$((size - shown))
  shown=$size
  if flock --nonblock $home/lock true; then ended=1; break; fi
  [ $SECONDS -lt $end ] || break
done
cp $home/log "$out/one-gpu.log"
cp $home/tmp/results/one-gpu.json "$out" 2>/dev/null || true
tar --create --gzip -C $home/tmp --file "$out/logs.tar.gz" results/logs 2>/dev/null || true
if [ -z "${ended:-}" ]; then echo "run.sh: it still runs; call run.sh again within half a minute"; exit 3; fi
grep -q '^all steps passed$' $home/log
