// How colocations of three and four are predicted: composed of pairs, and by learners of rows of any size, on KACE's
// measurements (sets.ts).
import { mulberry32, shuffle } from "#core";
import {
  accuracyOf,
  type Colocation,
  type LearnerName,
  learners,
  meanOf,
  together,
} from "#predict";
import { kaceNames } from "#profile";
import { isWanted, spreadOf, trainingOf } from "./contestants.ts";
import type { Named } from "./kace.ts";
import { kaceBySize } from "./sets.ts";

const compared = ["mixed", "ours", "forest", "ridge"] as const satisfies LearnerName[];
const FOREST_TESTS = 10;
const SPLITS = 3;
const TRAINING = 0.2;

export function several(say: (line: string) => void) {
  const [pairs = [], triples = [], quads = []] = kaceBySize();
  const part = (rows: readonly Named[], seed: number) => {
    const mixed = shuffle(rows, mulberry32(seed));
    const size = Math.round(TRAINING * mixed.length);
    return [mixed.slice(0, size), mixed.slice(size)] as const;
  };
  const always = (learned: readonly Named[], held: readonly Named[]) => () =>
    [learned, held] as const;
  const cases: Readonly<
    Record<string, (seed: number) => readonly [readonly Named[], readonly Named[]]>
  > = {
    "triples, of pairs": always(pairs, triples),
    "quads, of pairs": always(pairs, quads),
    "quads, of pairs and triples": always([...pairs, ...triples], quads),
    "triples, of 20 % of them": (seed) => part(triples, seed),
    "quads, of 20 % of them": (seed) => part(quads, seed),
    "quads, of pairs, triples and 20 % of them": (seed) => {
      const [learned, held] = part(quads, seed);
      return [[...pairs, ...triples, ...learned], held];
    },
  };
  return {
    rows: { pairs: pairs.length, triples: triples.length, quads: quads.length },
    splits: SPLITS,
    forestTests: FOREST_TESTS,
    composedOfMeasuredPairs: {
      triples: composedOf(pairs, triples),
      quads: composedOf(pairs, quads),
    },
    learned: Object.fromEntries(
      Object.entries(cases).map(([title, split]) => {
        const isRandom = split(0)[1] !== split(1)[1];
        const results = compared.filter(isWanted).map((name) => {
          const runs = Array.from({ length: isRandom ? SPLITS : 1 }, (_, seed) => {
            const [learned, held] = split(seed);
            const training = { ...trainingOf(seed), forestTests: FOREST_TESTS };
            const state = learners[name].train(learned, kaceNames, training);
            return accuracyOf(held, learners[name].open(state, kaceNames));
          });
          return [
            name,
            {
              error: spreadOf(runs.map(({ error }) => error)),
              covered: spreadOf(runs.map(({ covered }) => covered)),
            },
          ] as const;
        });
        say(title);
        return [title, Object.fromEntries(results)];
      }),
    ),
  };
}

/** Errors of the two simple rules, where all pairs of a target were measured. */
function composedOf(pairs: readonly Named[], rows: readonly Named[]) {
  const measured = new Map<string, number>();
  for (const { names, sides } of pairs)
    sides.forEach(({ retained }, i) => {
      measured.set(`${names[i]} beside ${names[1 - i]}`, retained);
    });
  const sides = rows.flatMap((row) =>
    row.sides.flatMap(({ retained }, i) => {
      const beside = row.names.flatMap((name, k) =>
        k === i ? [] : [measured.get(`${row.names[i]} beside ${name}`) ?? Number.NaN],
      );
      return beside.some(Number.isNaN) ? [] : [{ retained, beside }];
    }),
  );
  const by = (exponent: number) => {
    const errors = sides.map(
      ({ retained, beside }) => together(beside, { exponent, crowding: [1] }) - retained,
    );
    return {
      bias: Number(meanOf(errors).toFixed(4)),
      error: Number(meanOf(errors.map(Math.abs)).toFixed(4)),
    };
  };
  return { sides: sides.length, multiplied: by(0), added: by(1), mean: meanErrorOf(rows) };
}

function meanErrorOf(rows: readonly Colocation[]): number {
  const all = rows.flatMap(({ sides }) => sides.map(({ retained }) => retained));
  return Number(meanOf(all.map((one) => Math.abs(one - meanOf(all)))).toFixed(4));
}
