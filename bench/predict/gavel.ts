// Gavel's colocated trainings (stanford-futuredata/gavel, MIT; V100). They come without any metric but the solo
// throughput, which tells one job from another and nothing of what it needs: here models can only remember. So this
// says how pairs are filled in from other pairs of the same jobs, and that unseen jobs can't be predicted from it.
import { join } from "node:path";
import { mulberry32, shuffle } from "#core";
import { accuracyOf, type Colocation, type Features, learnerNames, learners } from "#predict";
import { dataFolder } from "../data.ts";
import { isWanted, spreadOf, trainingOf } from "./contestants.ts";
import { csvRecords } from "./kace.ts";

const SPLITS = 5;
const PARTS = [0.2, 0.5] as const;
/** Tests of the forest's grid; a hundred would take most of the time of this part. */
const FOREST_TESTS = 20;
const metrics = ["soloThroughput"] as const;

export function gavel(say: (line: string) => void) {
  const rows = gavelPairs();
  const results = learnerNames.filter(isWanted).map((name) => {
    const errors = PARTS.map((part) => {
      const runs = Array.from({ length: SPLITS }, (_, seed) => {
        const mixed = shuffle(rows, mulberry32(seed));
        const size = Math.round(part * rows.length);
        const state = learners[name].train(mixed.slice(0, size), metrics, {
          ...trainingOf(seed),
          forestTests: FOREST_TESTS,
        });
        return accuracyOf(mixed.slice(size), learners[name].open(state, metrics)).error;
      });
      return { trainingPart: part, error: spreadOf(runs) };
    });
    say(name);
    return [name, errors] as const;
  });
  return {
    gpu: "v100",
    rows: rows.length,
    splits: SPLITS,
    forestTests: FOREST_TESTS,
    results: Object.fromEntries(results),
  };
}

/** Each pair of jobs once; zeros are pairs that did not fit or failed. */
function gavelPairs(): readonly Colocation[] {
  const features = new Map<string, Features>();
  const of = (job: string, solo: number): Features => {
    const known = features.get(job) ?? { soloThroughput: solo };
    features.set(job, known);
    return known;
  };
  return csvRecords(join(dataFolder, "gavel", "derived", "oracle_pairs.csv")).flatMap((row) => {
    const [a, b] = [row.job_a ?? "", row.job_b ?? ""];
    const colocated = [Number(row.thr_a_colocated), Number(row.thr_b_colocated)] as const;
    if (row.gpu !== "v100" || a > b || colocated.includes(0)) return [];
    const side = (job: string, solo: number, throughput: number) => ({
      features: of(job, solo),
      retained: throughput / solo,
      smShare: 1,
    });
    return [
      {
        sides: [
          side(a, Number(row.thr_a_isolated), colocated[0]),
          side(b, Number(row.thr_b_isolated), colocated[1]),
        ],
      },
    ];
  });
}
