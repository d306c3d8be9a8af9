#!/usr/bin/env bash
# An LLM engine with objectives beside a training: the time to the first token at most twice, the time per token at most 1.5
# times the p99 that the engine has alone.
#   bench/engine/objectives.sh OUTDIR cotenant RATE     time slicing, then the policy `cotenant`, 200 s
#   bench/engine/objectives.sh OUTDIR rivals RATE       MPS, MPS with priority, MPS 30 %, 150 s; after `cotenant`
#   bench/engine/objectives.sh OUTDIR mps RATE          the policy `cotenant` in mode mps, 100 s; after `cotenant`
#   bench/engine/objectives.sh OUTDIR shares RATE       fixed shares of 10, 20, 30 and 40 % of the time, 160 s; after `cotenant`
#   bench/engine/objectives.sh OUTDIR policies RATE     `strict`, gaps only, a share, and kernels of the opposite class, 230 s; after `cotenant`
#   bench/engine/objectives.sh OUTDIR none RATE         time slicing, `cotenant` and `strict` without objectives, 170 s
#   bench/engine/objectives.sh OUTDIR step RATE         load that rises to four times RATE after 40 s, 110 s; after `cotenant`
# "After" it, because they take the objectives that it stated at that rate, and the speed of the training alone. SERVER, TRAINING and LENGTHS replace the engine,
# the training and the options of `cotenant load-llm` that say how long prompts and answers are. LLM: how llm.ts is run.
# `policies` needs PROFILE, the training's, of this GPU: on an H200 bench/profiles/h200/bert-train.json, which is of
#   TRAINING="python3 workloads/train.py --model bert-large --batch 8 --sequence 384 --dtype fp32"
# and on another one DIR/*.json of
#   cotenant profile --kind training --seconds 40 --out DIR -- python3 workloads/train.py --model bert-large     90 s
# Without PyTorch: GPU=soft SERVER="node --import tsx test/llm/stand-in.ts" and a TRAINING of the software GPU.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1" && out=$(cd "$1" && pwd) || exit 2
what=$2 rate=$3
cd "$root" || exit 2
llm=${LLM:-npx tsx bench/engine/llm.ts}
given=(--rate "$rate" --server "${SERVER:-python3 workloads/llm_server.py --model llama-3.1-8b}"
  --training "${TRAINING:-python3 workloads/train.py --model bert-large}" --each "$out/each-$what-$rate" --gpu "${GPU:-auto}")
read -ra lengths <<<"${LENGTHS:---prompt lognormal:512,1 --output 128}"
# The objectives of the first measurement at this rate, and what the training does alone.
stated() {
  python3 - "$out/cotenant-$rate.json" <<'PY'
import json, sys
rows = json.load(open(sys.argv[1]))["rows"]
print(*(f"--slo {one}" for one in next(row["slo"] for row in rows if row.get("slo"))))
print(next(f'--training-alone {row["trainingAlonePerS"]}' for row in rows if row.get("trainingAlonePerS")))
PY
}
beside() { printf -- '--arrangement strict-isolated:coRunSliceUs=2000,coRunEveryUs=%d ' "$@"; }
case $what in
  cotenant) more=(--solo once --seconds 30 --learn 30 --times ttft.p99=2 --times tpot.p99=1.5
    --arrangement time-slicing --arrangement cotenant-isolated) ;;
  rivals) more=(--seconds 20 --arrangement mps --arrangement mps-priority --arrangement mps-30) ;;
  mps) more=(--seconds 30 --learn 30 --arrangement cotenant-mps) ;;
  shares) read -ra shares <<<"$(beside 20000 10000 6667 5000)"
    more=(--seconds 17 "${shares[@]}") ;;
  policies) more=(--seconds 30 --training-profile "${PROFILE:?a profile of the training, made on this GPU}"
    --arrangement strict-isolated --arrangement strict-isolated:resumeDelayUs=0
    --arrangement strict-isolated:coRunSliceUs=2000,coRunEveryUs=10000 --arrangement strict-mps --arrangement orion-mps) ;;
  none) more=(--solo once --seconds 20 --learn 20 --arrangement time-slicing --arrangement cotenant-isolated --arrangement strict-isolated) ;;
  step) given[1]="steps:40s@$rate,40s@$(python3 -c "print(4 * $rate)")"
    more=(--seconds 58 --learn 20 --arrangement cotenant-isolated) ;;
  *) echo "objectives.sh: there is no \"$what\"." >&2; exit 2 ;;
esac
slo=()
if [ "$what" != cotenant ] && [ "$what" != none ]; then
  said=$(stated 2>/dev/null) || { echo "objectives.sh: $out/cotenant-$rate.json states no objectives: first run \"cotenant\" at $rate." >&2; exit 1; }
  read -rd '' -a slo <<<"$said"
fi
$llm "${given[@]}" "${slo[@]}" "${more[@]}" -- "${lengths[@]}" >"$out/$what-$rate.json"
