import type { BurstRecord } from "./burst-ring.ts";
import { isMain, type StepShape } from "./recognise.ts";

/** Times are in ns. */
export interface Step {
  readonly begin: number;
  readonly end: number;
  readonly active: number;
  readonly waited: number;
  readonly bursts: number;
  readonly launches: number;
}

export interface OpenStep {
  readonly step: Step | undefined;
  readonly hasMain: boolean;
  readonly short: number; // counts bursts after the main one, if there is one
}

export const noStep: OpenStep = { step: undefined, hasMain: false, short: 0 };

/** With more than this times the usual number of short bursts, they are something else. */
const MAX_SHORT = 4;

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
