# shellcheck shell=bash
# An MPS daemon of a measurement's own, for scripts to source.

# Ends the daemon that listens in this pipe directory, if one does. It must be one of ours: that there is no other in it is what
# makes it safe.
stop_mps() { # PIPE_DIRECTORY
  local pid_file=$1/nvidia-cuda-mps-control.pid pid servers
  [ -f "$pid_file" ] || return 0
  pid=$(cat "$pid_file")
  servers=$(echo get_server_list | CUDA_MPS_PIPE_DIRECTORY=$1 timeout 5 nvidia-cuda-mps-control | grep -E '^[0-9]+$')
  echo quit | CUDA_MPS_PIPE_DIRECTORY=$1 timeout 15 nvidia-cuda-mps-control >/dev/null
  for _ in $(seq 50); do kill -0 "$pid" 2>/dev/null || return 0; sleep 0.1; done
  echo "MPS daemon $pid did not quit; killed" >&2
  # shellcheck disable=SC2086 # a word for each server
  kill -9 "$pid" $servers
}
