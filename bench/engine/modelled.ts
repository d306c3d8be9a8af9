// A recorded engine in virtual time beside fixed shares of the time, to compare with measured ones: for each level of the policy
// `cotenant`, of which 14, 18 and 21 are 10, 15 and 20 % of the time.
//   npx tsx bench/engine/modelled.ts FILE LEVEL… > out.json       FILE: of cotenant load-llm --each
import { readFileSync } from "node:fs";
import { quantile } from "#core";
import { fitted, keptIn, played, recorded } from "#llm-model";

const [, , path = "", ...levels] = process.argv;
const LEARNS_S = 30;
const { requests, tokens, perS = Number.NaN } = recorded(readFileSync(path, "utf8"), path);
const shape = fitted(requests, {
  ...{ gapMs: 1.5, batchTokens: 1024, mostSequences: 64, cacheTokens: 65_536 },
});
if (!shape || Number.isNaN(perS)) throw new Error(`${path} tells too little`);
const traffic = { perS: () => perS, burstiness: 1, like: tokens };
const rows = levels.map((level) => {
  const run = { shape, traffic, limits: {}, seconds: 600 + LEARNS_S, seed: 1 };
  const outcome = played({ ...run, fixed: Number(level) });
  const of = (kind: "ttft" | "tpot") =>
    [0.5, 0.99].map((q) =>
      quantile(
        outcome.served.map((one) => one[kind]),
        q,
      ),
    );
  const kept = keptIn(outcome, LEARNS_S);
  return { level: Number(level), ttftMs: of("ttft"), tpotMs: of("tpot"), kept };
});
console.log(JSON.stringify({ file: path, perS, shape, rows }, undefined, 1));
