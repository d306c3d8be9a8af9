// Checks random programs; one that fails is made as small as it gets and told with the command that runs it again.
import fc from "fast-check";
import { anyProgram, type Wishes, written } from "./generate.ts";
import { ProgramMachine } from "./machine.ts";

export interface Checked {
  readonly runs: number;
  readonly seed: number;
  /** The place of a failure in the sequence of this seed. */
  readonly path?: string | undefined;
  readonly progress?: (done: number) => void;
}

/** Returns the failure as a text for people; undefined: none. */
export async function checkPrograms({
  runs,
  seed,
  path,
  progress,
}: Checked): Promise<string | undefined> {
  const machine = new ProgramMachine();
  let done = 0;
  const each = fc.asyncProperty(anyProgram, async (wishes) => {
    const fault = await machine.fault(wishes);
    progress?.(++done);
    if (fault) throw new Error(fault);
  });
  try {
    const out = await fc.check(each, { numRuns: runs, seed, ...(path ? { path } : {}) });
    if (!out.failed) return undefined;
    const [wishes] = out.counterexample ?? [];
    return wishes
      ? described(wishes, out.errorInstance, out.seed, out.counterexamplePath ?? "")
      : String(out.errorInstance);
  } finally {
    machine.close();
  }
}

function described(wishes: Wishes, error: unknown, seed: number, path: string): string {
  return [
    error instanceof Error ? error.message : String(error),
    `Again: COTENANT_SEED=${seed} COTENANT_PATH=${path} npm run soak -- test/programs`,
    `The program, of ${wishes.threads} threads, ${wishes.isolated ? "isolated" : "side by side"}${wishes.copy ? ", with a copy of the driver" : ""}, ${wishes.aheadUs} us queued, beside ${wishes.bursts} requests of ${wishes.burstUs} us, ${wishes.gapUs} us apart:`,
    ...written(wishes).map((line, number) => `${number}: ${line}`),
  ].join("\n");
}
