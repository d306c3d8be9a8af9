// Whether a tenant that writes noise into all that it may write makes a service slower: phases of it, and phases in which
// as much is written into memory that nobody else has. Needs the native parts with their tests, and the bundle.
//   npx tsx bench/cost/noise.ts [SECONDS [soft|auto]]      on the software GPU (if not given) or a real one; prints one JSON document
import type { ChildProcess } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { openFilesOf, REGION_LINK } from "#agent";
import { quantile } from "#core";
import { cotenant, type OwnAgent, withOwnAgent } from "./own-agent.ts";

const [, , given = "120", gpuKind = "soft"] = process.argv;
const PHASE_MS = 2000;
/** Requests under way when the phase changed belong to neither. */
const BETWEEN_NS = 20e6;

/** Starts stopped. */
async function scribble({ saying }: OwnAgent, files: readonly string[]): Promise<ChildProcess> {
  const program = [...process.execArgv, "test/e2e/programs/scribble.ts", "extremes", ...files];
  const child = await saying("scribbling", [process.execPath, ...program]);
  child.kill("SIGSTOP");
  return child;
}

interface Phase {
  readonly noise: boolean;
  readonly from: number;
  readonly to: number;
}

async function phases(noise: ChildProcess, control: ChildProcess): Promise<readonly Phase[]> {
  const done: Phase[] = [];
  const now = () => Number(process.hrtime.bigint());
  for (const until = now() + Number(given) * 1e9; now() < until; ) {
    const isNoise = done.length % 2 === 0;
    const writer = isNoise ? noise : control;
    writer.kill("SIGCONT");
    const from = now() + BETWEEN_NS;
    await pause(PHASE_MS);
    done.push({ noise: isNoise, from, to: now() - BETWEEN_NS });
    writer.kill("SIGSTOP");
  }
  return done;
}

/** Begin of submission to done, of the requests within such phases. */
function latencies(marks: string, among: readonly Phase[]) {
  const requests = readFileSync(marks, "utf8")
    .split("\n")
    .filter((line) => /^\d/.test(line))
    .map((line) => line.split(" ").map(Number));
  const us = requests
    .filter(([, from = 0, to = 0]) => among.some((one) => from >= one.from && to <= one.to))
    .map(([, from = 0, to = 0]) => (to - from) / 1e3);
  return { requests: us.length, p50Us: quantile(us, 0.5), p99Us: quantile(us, 0.99) };
}

async function measure(agent: OwnAgent) {
  const { directory, saying, file, takePlaces } = agent;
  const marks = join(directory, "marks");
  const shape = "--arrivals uniform --rate 200 --kernels 10 --kernel-us 100 --seconds 3600";
  const load = ["load", ...shape.split(" "), "--warmup", "1", "--json", "--marks", marks];
  const service = await saying("load: serving", [
    ...[...cotenant, "run", "--class", "high", "--", ...cotenant, ...load],
  ]);
  await takePlaces("best-effort", 1);
  const files = ["hold", "best-effort"].flatMap((kind) =>
    openFilesOf(file().pid, `${REGION_LINK}-${kind}-0`),
  );
  if (files.length !== 2) throw new Error(`the tenant has ${files.length} files, not 2`);
  const own = files.map((path, i) => {
    const copy = join(directory, `${i}`);
    writeFileSync(copy, readFileSync(path));
    return copy;
  });
  const done = await phases(await scribble(agent, files), await scribble(agent, own));
  service.kill("SIGTERM");
  await new Promise((resolve) => service.on("exit", resolve));
  const noise = latencies(
    marks,
    done.filter((one) => one.noise),
  );
  const control = latencies(
    marks,
    done.filter((one) => !one.noise),
  );
  const ratio = { p50: noise.p50Us / control.p50Us, p99: noise.p99Us / control.p99Us };
  const seconds = Number(given);
  return { cpu: cpus()[0]?.model, gpu: gpuKind, seconds, noise, control, ratio };
}

console.log(JSON.stringify(await withOwnAgent(gpuKind, measure), null, 1));
