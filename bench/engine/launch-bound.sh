#!/usr/bin/env bash
# Services that their CPU limits, beside trainings, without an objective.
#   bench/engine/launch-bound.sh OUTDIR resnet50-eager+resnet50-train [ARRANGEMENT...]   120 s
#   bench/engine/launch-bound.sh OUTDIR generate+gpt2-train [ARRANGEMENT...]             300 s
#   bench/engine/launch-bound.sh OUTDIR diffusion+gpt2-train [ARRANGEMENT...]            440 s
# Without arrangements: time slicing, MPS with priority, and the default policy. Their windows and the time of learning take so
# many seconds; the start of the processes and a first round of short windows are not counted. The longer a request, the longer are the
# windows, and the time in which the policy learns. What the agent says meanwhile is in launch-bound-PAIR-looks.jsonl.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1" && out=$(cd "$1" && pwd) || exit 2
pair=$2
shift 2
case $pair in
  resnet50-eager+*) times=(--rounds 2 --seconds 8 --learn 40) ;;
  generate+*) times=(--rounds 2 --seconds 20 --learn 100) ;;
  diffusion+*) times=(--rounds 1 --seconds 40 --learn 240) ;;
  *) echo "launch-bound.sh: \"$pair\" is none of the pairs above." >&2; exit 2 ;;
esac
[ $# -gt 0 ] || set -- time-slicing mps-priority cotenant-isolated
read -ra arrangements <<<"$(printf -- '--arrangement %s ' "$@")"
python3 "$root/bench/engine/looks.py" >"$out/launch-bound-$pair-looks.jsonl" &
looks=$!
trap 'kill $looks' EXIT
node "$root/bin/cotenant-lab" bench "$pair" --load 0.25 --requests 600 "${times[@]}" "${arrangements[@]}" ${COMMIT:+--commit "$COMMIT"} \
  --out "$out/launch-bound-$pair.json" >"$out/launch-bound-$pair.md"
