// A recorded engine in virtual time beside fixed shares of the time, in percent, to compare with measured ones.
//   npx tsx bench/engine/modelled.ts FILE PERCENT… > out.json       FILE: of cotenant load-llm --each
import { readFileSync } from "node:fs";
import { quantile } from "#core";
import { fitted, keptIn, played, recorded } from "#llm-model";

const [, , path = "", ...shares] = process.argv;
const LEARNS_S = 30;
const { requests, tokens, perS = Number.NaN } = recorded(readFileSync(path, "utf8"), path);
const shape = fitted(requests, {
  ...{ gapMs: 1.5, batchTokens: 1024, mostSequences: 64, cacheTokens: 65_536 },
});
if (!shape || Number.isNaN(perS)) throw new Error(`${path} tells too little`);
const traffic = { perS: () => perS, burstiness: 1, like: tokens };
const rows = shares.map((percent) => {
  const run = { shape, traffic, limits: {}, seconds: 600 + LEARNS_S, seed: 1 };
  const outcome = played({
    ...run,
    fixed: { share: Number(percent) / 100, endsInPrompts: false },
  });
  const of = (kind: "ttft" | "tpot") =>
    [0.5, 0.99].map((q) =>
      quantile(
        outcome.served.map((one) => one[kind]),
        q,
      ),
    );
  const kept = keptIn(outcome, LEARNS_S);
  return { percent: Number(percent), ttftMs: of("ttft"), tpotMs: of("tpot"), kept };
});
console.log(JSON.stringify({ file: path, perS, shape, rows }, undefined, 1));
