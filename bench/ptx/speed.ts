// Megabytes a second. The machine is shared, so CPU time of the thread is measured, not the clock.
import { legality, parse, preempt, print, slice } from "#ptx";
import { corpora } from "../../src/ptx/ptxas.ts";

const ROUNDS = 5;
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
    const modules = texts.map(parse);
    const rate = (work: () => void) => Number((bytes / MB / seconds(work)).toFixed(1));
    const whole = (pass: typeof slice) => () => {
      for (const text of texts) print(pass(parse(text)));
    };
    return {
      corpus,
      MB: (size / MB).toFixed(2),
      "parse, MB/s": rate(() => texts.map(parse)),
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
  return all.sort((a, b) => a - b)[ROUNDS >> 1] ?? Number.NaN;
}
