// Megabytes a second. The machine is shared, so CPU time is measured, of all threads: V8 compiles and collects
// garbage beside the one that works.
import { execFileSync } from "node:child_process";
import { legality, parse, preempt, print, slice } from "#ptx";
import { corpora } from "../../test/ptx/ptxas.ts";

export const ROUNDS = 5;
const MB = 1e6;
/** Each round works on at least this much, the corpus again and again: shorter ones would measure chance. */
const ROUND_BYTES = 3 * MB;

export function speed() {
  const files = corpora();
  return [...new Set(files.map(({ corpus }) => corpus))].map((corpus) => {
    const once = files.filter((one) => one.corpus === corpus).map(({ text }) => text);
    const size = once.reduce((sum, one) => sum + one.length, 0);
    const texts = Array.from({ length: Math.ceil(ROUND_BYTES / size) }, () => once).flat();
    const bytes = texts.reduce((sum, one) => sum + one.length, 0);
    const modules = texts.map((text) => parse(text));
    const rate = (work: () => void) => Number((bytes / MB / seconds(work)).toFixed(1));
    const whole = (pass: typeof slice) => () => {
      for (const text of texts) print(pass(parse(text)));
    };
    return {
      corpus,
      MB: (size / MB).toFixed(2),
      "parse, MB/s": rate(() => texts.map((text) => parse(text))),
      "print, MB/s": rate(() => modules.map(print)),
      // From the text each time: analyses keep what they have found of a tree.
      "5 MB parsed and judged, s": (
        5 / rate(() => texts.map((text) => legality(parse(text))))
      ).toFixed(2),
      "5 MB parsed, sliced, printed, s": (5 / rate(whole(slice))).toFixed(2),
      "5 MB parsed, made preemptible, printed, s": (5 / rate(whole(preempt))).toFixed(2),
    };
  });
}

const ONE_FILE = 5 * MB;

/** The same of one file of 5 MB, each time in a process of its own: the median of five. */
export function oneFile() {
  const files = corpora();
  return [...new Set(files.map(({ corpus }) => corpus))].flatMap((corpus) => {
    const input = together(files.filter((one) => one.corpus === corpus).map(({ text }) => text));
    return ["slice", "preempt", "form"].map((pass) => {
      const all = Array.from({ length: ROUNDS }, () => fresh(pass, input));
      const middle = (of: (one: Fresh) => number) => median(all.map(of)).toFixed(2);
      return {
        corpus,
        pass,
        "clock, s": middle(({ clock }) => clock),
        "CPU, s": middle(({ cpu }) => cpu),
      };
    });
  });
}

interface Fresh {
  readonly clock: number;
  readonly cpu: number;
}

function fresh(pass: string, input: string): Fresh {
  const words = [...process.execArgv, "bench/ptx/one-file.ts", pass];
  return JSON.parse(execFileSync(process.execPath, words, { input, encoding: "utf8" })) as Fresh;
}

/** The kernels that call nobody, again and again under other names, behind the variables of all files. */
export function together(texts: readonly string[]): string {
  const pieces = texts.flatMap((text) =>
    parse(text).items.map((item) => ({ item, text: text.slice(item.at, item.end) })),
  );
  const kernels = pieces.flatMap(({ item, text }) =>
    item.kind === "function" && item.entry && !/\bcall\b/.test(text)
      ? [{ name: new RegExp(`\\b${item.name}`, "g"), text }]
      : [],
  );
  const variables = pieces.filter(({ item }) => item.kind === "variable").map(({ text }) => text);
  let all = `.version 9.0\n.target sm_90a\n${[...new Set(variables)].join("\n")}\n`;
  for (let n = 0; all.length < ONE_FILE; n += 1) {
    const one = kernels[n % kernels.length];
    all += `${one?.text.replaceAll(one.name, `k${n}`)}\n`;
  }
  return all;
}

/** CPU seconds of the median round, after two to warm up. */
function seconds(work: () => void): number {
  work();
  work();
  const all: number[] = [];
  for (let i = 0; i < ROUNDS; i += 1) {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    all.push((user + system) / 1e6);
  }
  return median(all);
}

export const median = (all: number[]) => all.sort((a, b) => a - b)[all.length >> 1] ?? Number.NaN;
