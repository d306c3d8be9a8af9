// Bursts put together to steps, as `recognise` has found that they belong.
import type { BurstRecord } from "./burst-ring.ts";
import { isMain, type StepShape } from "./recognise.ts";

/** Times in ns. */
export interface Step {
  /** Start of the first burst. */
  readonly begin: number;
  /** and of its last one. */
  readonly end: number;
  /** In bursts. The rest is the program's own time between them. */
  readonly active: number;
  /** For the GPU. */
  readonly waited: number;
  readonly bursts: number;
  readonly launches: number;
}

/** A step of which a burst may still come. */
export interface OpenStep {
  readonly step: Step | undefined;
  readonly hasMain: boolean;
  /** Short bursts so far: after the main one, if it has that. */
  readonly short: number;
}

export const noStep: OpenStep = { step: undefined, hasMain: false, short: 0 };

/** Short bursts before a main one: with more than this many times the usual number they are something else. */
const MAX_SHORT = 4;

/** `open`: what the last call left. Bursts follow those of the last call. */
export function divide(
  bursts: readonly BurstRecord[],
  shape: StepShape,
  open: OpenStep,
): { readonly steps: readonly Step[]; readonly open: OpenStep } {
  const steps: Step[] = [];
  let now = open;
  const close = () => {
    if (now.step && now.hasMain) steps.push(now.step);
    now = noStep;
  };
  for (const burst of bursts) {
    const main = isMain(burst, shape);
    if (!belongs(burst, main, now, shape)) close();
    const short = main ? 0 : now.short + 1;
    now = { step: joined(now.step, burst), hasMain: now.hasMain || main, short };
    if (now.hasMain && now.short >= shape.trailing) close();
  }
  return { steps, open: now };
}

function belongs(burst: BurstRecord, main: boolean, open: OpenStep, shape: StepShape): boolean {
  if (!open.step || burst.begin - open.step.end > shape.breakNs) return false;
  if (main) return !open.hasMain;
  return open.hasMain || open.short < MAX_SHORT * shape.short;
}

const joined = (step: Step | undefined, { begin, end, waited, launches }: BurstRecord): Step => ({
  begin: step?.begin ?? begin,
  end,
  active: (step?.active ?? 0) + end - begin,
  waited: (step?.waited ?? 0) + waited,
  bursts: (step?.bursts ?? 0) + 1,
  launches: (step?.launches ?? 0) + launches,
});
