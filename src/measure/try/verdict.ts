import type { Ratio } from "../figures/stats.ts";
import type { Noise } from "../noise/noise.ts";
import { isByDefault, type WayName, wayNamed, ways } from "./ways.ts";

export interface Figures {
  readonly name: WayName;
  readonly p99: Ratio;
  readonly retained: Ratio;
}

export interface Question {
  readonly figures: readonly Figures[];
  readonly requests: number;
  readonly accepted: number; // 0.2 accepts a p99 that is 20 % higher
  readonly noise: Noise;
}

type Choice = (typeof ways)[number]["choice"] | "no-sharing" | "unclear";

export interface Verdict {
  readonly choice: Choice;
  readonly arrangement: WayName | undefined; // undefined for no-sharing and unclear
  readonly slo: string | undefined;
  readonly sentence: string;
}

export const MIN_RETAINED = 0.1; // a training is not worth the trouble below
/** The simpler of two arrangements is chosen if they differ by less. */
export const EQUAL_RETAINED = 0.05;
export const MIN_REQUESTS = 200; // a p99 of fewer is one of the largest
const ROOM = 0.03;

export function decide({ figures, requests, accepted, noise }: Question): Verdict {
  if (noise.noisy) return unclear(noise.sentence);
  if (requests === 0)
    return unclear(
      "No latency to judge: alone, the service had no moment without a request, so that none could be told from the next. Use a lower load, or say where it tells its latencies (--metric, --latency-command).",
    );
  if (requests < MIN_REQUESTS)
    return unclear(
      `Too few requests to judge: alone there were ${Math.round(requests)}, and a p99 needs ${MIN_REQUESTS}; use a higher load or a larger --seconds.`,
    );
  const limit = 1 + accepted;
  const worthwhile = figures.filter(({ retained }) => retained.value >= MIN_RETAINED);
  const keeping = worthwhile.filter(({ p99 }) => p99.high <= limit);
  const most = Math.max(...keeping.map(({ retained }) => retained.value));
  const chosen = ways
    .flatMap(({ name }) => keeping.find((one) => one.name === name) ?? [])
    .find(({ retained }) => retained.value > most - EQUAL_RETAINED);
  if (chosen) return use(chosen, figures, accepted);
  const open = worthwhile.find(({ p99 }) => !(p99.low > limit));
  if (open) return onTheBorder(open, limit);
  return refuse(figures, limit);
}

function onTheBorder({ name, p99, retained }: Figures, limit: number): Verdict {
  const enough =
    Number.isFinite(p99.high) && `; --accept ${Math.ceil(100 * (p99.high - 1))}% accepts it`;
  return unclear(
    `On the border of what you accept, a p99 of ${times(limit)} that alone: with ${wayNamed(name).title} it is ${ratioText(p99)}, and the training retains ${percent(retained.value)}. ` +
      `More --rounds or --seconds make the interval narrower${enough || ""}.`,
  );
}

const unclear = (sentence: string): Verdict => ({
  choice: "unclear",
  arrangement: undefined,
  slo: undefined,
  sentence,
});

function use(chosen: Figures, all: readonly Figures[], accepted: number): Verdict {
  const way = wayNamed(chosen.name);
  // Under `strict` an objective gives the training nothing.
  const hasRoom = isByDefault(way) && chosen.p99.high + ROOM <= 1 + accepted;
  const slo = hasRoom ? `slowdown=${Number((100 * accepted).toFixed(1))}%` : undefined;
  const others = all.filter(({ name }) => name !== chosen.name);
  return {
    choice: way.choice,
    arrangement: chosen.name,
    slo,
    sentence: [
      `${way.advice}: the service's p99 is ${ratioText(chosen.p99)} and the training retains ${percent(chosen.retained.value)}`,
      ...(others.length > 0 ? [`; ${others.map(shortly).join(", ")}`] : []),
      ...(slo === undefined
        ? ["."]
        : [`; --slo ${slo} lets the training have what your limit leaves.`]),
    ].join(""),
  };
}

function refuse(figures: readonly Figures[], limit: number): Verdict {
  const [nearest] = [...figures].sort((a, b) => a.p99.value - b.p99.value);
  return {
    choice: "no-sharing",
    arrangement: undefined,
    slo: undefined,
    sentence: nearest
      ? `Don't share: you accept a p99 of ${times(limit)} that alone with at least ${percent(MIN_RETAINED)} retained, and the nearest, ${wayNamed(nearest.name).title}, has ${ratioText(nearest.p99)} and ${percent(nearest.retained.value)}.`
      : "Don't share: nothing could be measured.",
  };
}

const shortly = ({ name, p99, retained }: Figures): string =>
  `with ${wayNamed(name).title} ${times(p99.value)} and ${percent(retained.value)}`;

export const ratioText = ({ value, low, high }: Ratio): string =>
  Number.isFinite(low) ? `${times(value)} [${low.toFixed(2)}, ${high.toFixed(2)}]` : times(value);

const times = (ratio: number): string => `${ratio.toFixed(2)}x`;
const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;
