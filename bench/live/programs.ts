// Random programs (test/programs) on the real driver: natively, as the high client and as a best-effort one. What is not
// legal natively shows an error of the generator or of the software GPU.
//   COTENANT_REAL_DRIVER=1 node programs.js SECONDS SEED OUT.json [MACHINES]
import { writeFileSync } from "node:fs";
import fc from "fast-check";
import { anyProgram } from "../../test/programs/generate.ts";
import { ProgramMachine } from "../../test/programs/machine.ts";

const [seconds = "60", seed = "1", out = "programs.json", machines = "2"] = process.argv.slice(2);
const until = performance.now() + Number(seconds) * 1000;
const faults: { readonly number: number; readonly fault: string }[] = [];
let next = 0;

/** The program of this number under this seed. */
const programOf = (number: number) =>
  fc.sample(anyProgram, { seed: Number(seed) + number, numRuns: 1 })[0];

async function work(): Promise<void> {
  const machine = new ProgramMachine();
  while (performance.now() < until) {
    const number = next++;
    const wishes = programOf(number);
    if (!wishes) continue;
    const fault = await machine.fault(wishes).catch((error: unknown) => String(error));
    if (fault) faults.push({ number, fault });
  }
  machine.close();
}

await Promise.all(Array.from({ length: Number(machines) }, work));
writeFileSync(out, `${JSON.stringify({ seed: Number(seed), programs: next, faults }, null, 1)}\n`);
console.log(`${next} programs, ${faults.length} faults`);
for (const { number, fault } of faults.slice(0, 20)) console.log(number, fault.slice(0, 300));
process.exit(0);
