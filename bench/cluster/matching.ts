// How fast the matchings are, and how near the heuristic for several jobs a GPU comes to the best:
// `npx tsx bench/cluster/matching.ts OUT.json`. CPU seconds of one process; by kinds, where a run is short, the median of three.

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { placeInLayers, placeSeveral, type SeveralProblem } from "#cluster";
import { mulberry32 } from "#core";
import { assign, assignGreedily, assignKinds, shareOut, totalWeight } from "#place";

const [out] = process.argv.slice(2);

const random = mulberry32(1);

function cpuSeconds(run: () => void, repeats = 1): number {
  const times = Array.from({ length: repeats }, () => {
    const before = process.cpuUsage();
    run();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1e6;
  });
  return times.sort((a, b) => a - b)[Math.floor(times.length / 2)] as number;
}

const dense = (name: string, n: number, weight: (row: number, column: number) => number) => {
  const weights = new Float64Array(n * n);
  for (let edge = 0; edge < weights.length; edge++)
    weights[edge] = weight(Math.floor(edge / n), edge % n);
  const matrix = { rows: n, columns: n, weights };
  let exact = 0;
  const seconds = cpuSeconds(() => {
    exact = totalWeight(matrix, assign(matrix));
  });
  const greedy = n <= 1000 ? totalWeight(matrix, assignGreedily(matrix)) : undefined;
  return { name, n, seconds, exact, greedy };
};

/** Members drawn of 20 kinds each. */
const fewKinds = (n: number) => {
  const weights = Array.from({ length: 20 * 20 }, random);
  const [rows, columns] = [0, 1].map(() =>
    Array.from({ length: n }, () => Math.floor(random() * 20)),
  ) as [number[], number[]];
  return (row: number, column: number) =>
    weights[(rows[row] as number) * 20 + (columns[column] as number)] as number;
};

const products = (n: number) => {
  const [rows, columns] = [0, 1].map(() => Array.from({ length: n }, random)) as [
    number[],
    number[],
  ];
  return (row: number, column: number) => (rows[row] as number) * (columns[column] as number);
};

const kinds = (members: number, count: number) => {
  const weights = new Float64Array(count * count).map(random);
  const spread = () => {
    const counts = Array<number>(count).fill(0);
    for (let i = 0; i < members; i++) {
      const kind = Math.floor(random() * count);
      counts[kind] = (counts[kind] ?? 0) + 1;
    }
    return counts;
  };
  const problem = { rows: spread(), columns: spread(), weights };
  return {
    name: `${count} x ${count} kinds`,
    n: members,
    seconds: cpuSeconds(() => void assignKinds(problem), 3),
  };
};

/** The best of all ways to spread the jobs, tried. */
function best({ seats, jobs, most, worth }: SeveralProblem): number {
  const groups: number[][] = Array.from({ length: seats }, () => []);
  const from = (next: number): number => {
    if (next === jobs) return groups.reduce((sum, group, seat) => sum + worth(seat, group), 0);
    let top = from(next + 1);
    for (const group of groups)
      if (group.length < most) {
        group.push(next);
        top = Math.max(top, from(next + 1));
        group.pop();
      }
    return top;
  };
  return from(0);
}

/** How far from the best groups is: with moves and exchanges, and layer by layer only. */
function severalGap() {
  const cases = Array.from({ length: 300 }, (): SeveralProblem => {
    const free = [random(), random(), random()].map((one) => 0.2 + 0.8 * one);
    const needs = Array.from({ length: 6 }, () => 0.1 + 0.9 * random());
    return {
      seats: 3,
      jobs: 6,
      most: 2,
      worth: (seat, group) => {
        const wants = group.map((job) => needs[job] as number);
        return shareOut(free[seat] as number, wants).reduce(
          (sum, got, i) => sum + got / (wants[i] as number),
          0,
        );
      },
    };
  });
  const of = (place: (problem: SeveralProblem) => number[][]) => {
    const gaps = cases
      .map((problem) => {
        const found = place(problem).reduce(
          (sum, group, seat) => sum + problem.worth(seat, group),
          0,
        );
        return 1 - found / best(problem);
      })
      .sort((a, b) => a - b);
    return {
      optimal: gaps.filter((gap) => gap < 1e-9).length,
      meanGap: gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length,
      worstGap: gaps.at(-1),
    };
  };
  return { cases: cases.length, heuristic: of(placeSeveral), layersOnly: of(placeInLayers) };
}

const result = {
  version: 1,
  made: new Date().toISOString(),
  machine: `${cpus()[0]?.model} x ${cpus().length}, shared; CPU seconds of one process`,
  node: process.version,
  commit: execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" }).trim(),
  command: "npx tsx bench/cluster/matching.ts OUT.json",
  matchings: [
    dense("uniform", 1000, random),
    dense("uniform", 5000, random),
    dense("ten levels", 5000, () => Math.ceil(random() * 10)),
    dense("members of 20 x 20 kinds", 5000, fewKinds(5000)),
    dense("row's number x column's", 5000, products(5000)),
    kinds(20_000, 50),
  ],
  several: severalGap(),
};
console.log(JSON.stringify(result, null, 2));
if (out !== undefined) writeFileSync(out, `${JSON.stringify(result)}\n`);
