// KACE, Figures 2 and 3: fit, training time and choices against the size of the training set.

import { mulberry32, shuffle } from "#core";
import { choose, fitOf, ofOracle } from "#evaluation";
import { cpuMs, medianOf, remembered, spreadOf, trained } from "./contestants.ts";
import { kacePairs } from "./kace.ts";

const PARTS = [0.1, 0.2, 0.3, 0.5, 0.7] as const;
const SPLITS = 4;
const goal = "throughput";

export function sizes(say: (line: string) => void) {
  const rows = kacePairs();
  const shown = Object.entries(trained).filter(([name]) => name !== "list of partners");
  return {
    goal,
    splits: SPLITS,
    results: PARTS.map((part) => {
      const results = shown.map(([name, train]) => {
        const runs = Array.from({ length: SPLITS }, (_, seed) => {
          const mixed = shuffle(rows, mulberry32(seed));
          const size = Math.round(part * rows.length);
          const [score, ms] = cpuMs(() => train(mixed.slice(0, size), goal, seed));
          const held = mixed.slice(size);
          const known = remembered(score, rows);
          return { ...fitOf(held, known, goal), ms, reached: ofOracle(choose(rows, known, goal)) };
        });
        return [
          name,
          {
            r2: spreadOf(runs.map(({ r2 }) => r2)),
            rmse: spreadOf(runs.map(({ rmse }) => rmse)),
            ofOracle: spreadOf(runs.map(({ reached }) => reached)),
            trainingCpuMs: Number(medianOf(runs.map(({ ms }) => ms)).toPrecision(3)),
          },
        ];
      });
      say(`${part * 100} % of the rows`);
      return { part, results: Object.fromEntries(results) };
    }),
  };
}
