// Random programs (test/programs) on the real driver: natively, as the high client and as a best-effort one. What is not
// legal natively shows an error of the generator or of the software GPU.
//   COTENANT_REAL_DRIVER=1 node programs.js SECONDS SEED OUT.json [MACHINES]
import { writeFileSync } from "node:fs";
import fc from "fast-check";
import { anyProgram, type Wishes, written } from "../../test/programs/generate.ts";
import { ProgramMachine } from "../../test/programs/machine.ts";
import { NONE } from "../../test/programs/work.ts";

const [seconds = "60", seed = "1", out = "programs.json", machines = "2"] = process.argv.slice(2);
const until = performance.now() + Number(seconds) * 1000;
const faults: { readonly number: number; readonly fault: string }[] = [];
let next = 0;
let ran = 0;
let leftOut = 0;

/** The program of this number under this seed. */
const programOf = (number: number) =>
  fc.sample(anyProgram, { seed: Number(seed) + number, numRuns: 1 })[0];

/**
 * A thread in a synchronous copy, free or destroy that waits for a word keeps other threads out of the driver, also the
 * one that would write the word after its next call (H100, driver 580). On the software GPU it does not.
 */
const waitsForAnotherThread = (wishes: Wishes): boolean =>
  wishes.threads > 1 &&
  written(wishes).some((line) => {
    const [, operation = "", ...of] = line.split(" ");
    return (
      operation === "wait-word" || (/^(host|callback)$/.test(operation) && of[4] !== String(NONE))
    );
  });

async function work(): Promise<void> {
  const machine = new ProgramMachine();
  while (performance.now() < until) {
    const number = next++;
    const wishes = programOf(number);
    if (!wishes) continue;
    if (waitsForAnotherThread(wishes)) {
      leftOut++;
      continue;
    }
    ran++;
    const fault = await machine.fault(wishes).catch((error: unknown) => String(error));
    if (fault) faults.push({ number, fault });
  }
  machine.close();
}

await Promise.all(Array.from({ length: Number(machines) }, work));
writeFileSync(
  out,
  `${JSON.stringify({ seed: Number(seed), programs: ran, leftOut, faults }, null, 1)}\n`,
);
console.log(`${ran} programs, ${faults.length} faults, ${leftOut} left out`);
for (const { number, fault } of faults.slice(0, 20)) console.log(number, fault.slice(0, 300));
process.exit(0);
