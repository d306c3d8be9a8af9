import { type Args, command, json, list, number, text } from "#cli";
import {
  checkWritable,
  errors,
  leftOf,
  orShipped,
  percent,
  progressOf,
  readGiven,
  table,
  UserError,
  usage,
  writeGiven,
} from "#core";
import {
  fitted,
  type Latencies,
  MIN_SAMPLES,
  mostPerS,
  recorded,
  type Shape,
  type StudyRow,
  study,
} from "#llm-model";
import { type LimitsUs, parseObjective, requestLimits, statedIn } from "#policy";

const whole = { min: 1, whole: true };

const options = {
  rate: number("R", undefined, "requests per second (default: those of FILE)", { min: 0.001 }),
  slo: list(
    "OBJECTIVE",
    "ttft.p99=TIME, tpot.p99=TIME or e2e.p99=TIME (default: twice the TTFT and 1.5 times the TPOT of the engine alone)",
  ),
  seconds: number("S", 600, "virtual time of each of two runs, after 30 s to learn in", {
    min: 30,
    max: 86_400,
  }),
  gap: number("MS", 1.5, "how long the GPU idles between two steps of the engine"),
  "batch-tokens": number("N", 1024, "tokens of a step at most; longer prompts take several", whole),
  sequences: number("N", 64, "sequences that the engine runs at once", whole),
  "cache-tokens": number("N", 65_536, "tokens that fit the key-value cache", whole),
  "prompt-launches": number(
    "N",
    1000,
    "kernels that a step with a prompt in it launches, while the others replay a CUDA graph; 0: the engine has no graphs",
    { min: 0, whole: true },
  ),
  seed: number("N", 1, "of arrivals", { whole: true, max: 2 ** 20 }),
  out: text("FILE", undefined, "write the result as JSON here"),
  json,
};

type Options = Args<typeof options>;

export const modelLlmCommand = command({
  name: "model-llm",
  summary: "what best-effort work would get beside an LLM engine, in virtual time; needs no GPU",
  options,
  positional: {
    name: "FILE",
    doc: "requests that the engine served without best-effort work concurrent with it, from cotenant load-llm --each FILE",
    atLeast: 1,
  },
  examples: [
    "cotenant-lab model-llm \\\n  bench/profiles/h100/llama-3.1-8b.jsonl",
    "cotenant-lab model-llm --rate 2.4 \\\n  --slo ttft.p99=1s --slo tpot.p99=80ms \\\n  bench/profiles/h100/llama-3.1-8b.jsonl",
  ],
  async run(args) {
    const [path = "", stray] = args.positional;
    if (stray !== undefined) throw errors.strayArgument("model-llm", stray);
    if (args.out !== undefined) checkWritable(args.out);
    const seen = recorded(readGiven(orShipped(path), "file of requests"), path);
    const shape = fitted(seen.requests, {
      gapMs: args.gap,
      promptLaunches: args["prompt-launches"],
      batchTokens: args["batch-tokens"],
      mostSequences: args.sequences,
      cacheTokens: args["cache-tokens"],
    });
    if (!shape)
      throw new UserError(
        "TOO_FEW",
        `${path} tells too little: ${MIN_SAMPLES.firsts} answers, and ${MIN_SAMPLES.steps} tokens while no prompt is read, are needed.`,
        "Send requests for a minute, one or more a second, with answers of some dozen tokens.",
      );
    const rate = args.rate ?? seen.perS;
    if (rate === undefined)
      throw usage(
        `All requests of ${path} came at once.`,
        "State how many come a second: --rate R.",
      );
    // It has served those of the file, whatever the fit says.
    checkRate(rate, Math.max(mostPerS(shape, seen.tokens), seen.perS ?? 0), path);
    const shown = progressOf("model-llm");
    const left = leftOf(1);
    const { limits, rows } = study(
      {
        ...{ shape, seconds: args.seconds, seed: args.seed, limits: limitsOf(args) },
        traffic: { perS: () => rate, burstiness: 1, like: seen.tokens },
      },
      (what, part) => shown.step(`${what}, ${percent(part)} done`, left(part)),
    );
    shown.end();
    const result = {
      ...{ version: 1, kind: "model-llm", file: path, rate, engine: shape, recorded: seen.figures },
      command: ["cotenant-lab", ...process.argv.slice(2)].join(" "),
      ...{ seconds: args.seconds, limitsUs: limits, rows },
    };
    if (args.out !== undefined) writeGiven(args.out, `${JSON.stringify(result)}\n`);
    if (args.json) console.log(JSON.stringify(result, null, 2));
    else for (const line of report(shape, rate, limits, rows, seen.figures)) console.log(line);
    return 0;
  },
});

/** Error factor of `mostPerS`. */
const TOLERANCE = 1.1;

/** With a queue that grows for as long as requests come, figures would tell how long that is, and nothing of the engine. */
function checkRate(rate: number, most: number, path: string): void {
  if (rate <= TOLERANCE * most) return;
  throw usage(
    `${rate} requests a second are more than the engine of ${path} serves: about ${most.toPrecision(2)} at most, so its queue would grow for ever.`,
    "Ask for fewer with --rate, or for a larger engine with --sequences, --cache-tokens or --batch-tokens.",
  );
}

function limitsOf({ slo }: Options): LimitsUs | undefined {
  if (slo.length === 0) return undefined;
  const { requests, ...others } = parseObjective(slo);
  const stated = statedIn(requests ?? {});
  const isOther = others.p99Us !== undefined || others.slowdown !== undefined;
  if (isOther || stated.some(({ kind, quantile }) => kind === "itl" || quantile !== "p99"))
    throw usage("--slo: only ttft.p99=TIME, tpot.p99=TIME and e2e.p99=TIME are modelled.");
  return Object.fromEntries(stated.map(({ kind, limitUs }) => [kind, limitUs]));
}

function report(
  shape: Shape,
  rate: number,
  limits: LimitsUs,
  rows: readonly StudyRow[],
  seen: Latencies,
): readonly string[] {
  const { stepMs, perSequenceMs, perPromptTokenMs, gapMs } = shape;
  const objectives = statedIn(requestLimits(limits)).map(
    ({ kind, limitUs }) => `${kind}.p99=${ms(limitUs / 1000)}`,
  );
  const whole = limits.e2e !== undefined;
  const latencies = ({ requests, ttftMs, tpotMs, e2eMs }: Latencies) => [
    `${requests}`,
    ...[ttftMs, tpotMs, ...(whole ? [e2eMs] : [])].map(([p50, p99]) => `${ms(p50)} / ${ms(p99)}`),
  ];
  const titles = ["TTFT", "TPOT", ...(whole ? ["E2E"] : [])].map((title) => `${title} p50 / p99`);
  return [
    `A step takes ${ms(stepMs + gapMs)}, ${ms(perSequenceMs)} more for each sequence and ${ms(1000 * perPromptTokenMs)} more for 1000 tokens of prompts. ${rate.toFixed(2)} requests/s.`,
    `Objectives: ${objectives.join(", ")}.`,
    "",
    ...table(
      [
        ["", "requests", ...titles, "windows broken", "best-effort"],
        ["in the file", ...latencies(seen), "", ""],
        ...rows.map((row) => [
          row.name,
          ...latencies(row),
          percent(row.broken),
          row.name === "alone" ? "" : percent(row.kept),
        ]),
      ],
      1,
    ),
    "",
    "Windows are of 10 s, and broken where the p99 of a kind is above its objective. Best-effort: the part of the GPU's time that other work gets in mode isolated. Best fixed share: the largest that breaks at most one window in a hundred more than strict.",
  ];
}

const ms = (value: number): string =>
  Number.isNaN(value) ? "-" : `${value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ms`;
