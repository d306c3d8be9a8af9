// What `cotenant profile -- COMMAND` does: runs the command twice. First with the interposer, which notes
// launches, shapes, durations and their order, while the GPU itself is watched; then under Nsight
// Compute (ncu.ts), which tells how busy each distinct kernel keeps the GPU. What is done is kept beside the
// profiles until everything is had, so that the same command goes on where it was stopped.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { tryWrite, UserError } from "#core";
import { unsampled, withUtilisation } from "../importers/merge.ts";
import { importNcu } from "../importers/ncu.ts";
import { importRecorded, type RecordingAbout } from "../recording/recording.ts";
import { ProfileStore } from "../store.ts";
import type { SystemMetrics, WorkloadKind, WorkloadProfile } from "../types.ts";
import { findNcu, hasLaunches, METRICS, sampleWithNcu } from "./ncu.ts";
import { ONE_PASS_CAPABILITY, onePassRuns } from "./one-pass.ts";
import { record } from "./record.ts";

/** The run under ncu is told to end after so many times the first run's length, and a start's worth more. */
const SAMPLING_FACTOR = 3;
const SAMPLING_START_SECONDS = 60;

export interface Wanted {
  readonly command: readonly [string, ...string[]];
  readonly name: string;
  /** The folder of profiles. */
  readonly out: string;
  readonly kind: WorkloadKind | undefined;
  readonly gpu: string | undefined;
  readonly soloNs: number | undefined;
  readonly seconds: number | undefined;
  /** False: no second run, so that classes stay unknown. */
  readonly sample: boolean;
  /** The second run is several, of one pass each. */
  readonly onePass: boolean;
  /** Begins anew, whatever was kept. */
  readonly fresh: boolean;
  readonly say: (text: string) => void;
  /** Watches the GPU from now on. */
  readonly watchSystem: (env: NodeJS.ProcessEnv) => SystemWatch;
}

/** What the GPU itself shows while a command runs. */
export interface SystemWatch {
  /** The GPU's name; undefined where none can be read, and `why` says why. */
  readonly gpu: string | undefined;
  readonly why: string;
  /** Processes that were on the GPU before. */
  readonly others: number;
  stop(): void;
  /** Means over the readings within a stretch of time; memory is the most over what was used before. */
  between(fromNs: number, toNs: number): SystemMetrics;
}

export interface Measured {
  readonly profile: WorkloadProfile;
  readonly path: string;
  /** What could not be had, in sentences. */
  readonly lacks: readonly string[];
}

export async function measure(wanted: Wanted): Promise<Measured> {
  const parts = openParts(wanted);
  const recorded = parts.json<Recorded>("recorded") ?? (await firstRun(parts, wanted));
  const recording = importRecorded(parts.text("recording") ?? "", aboutOf(wanted)).profile;
  if (wanted.sample && parts.json<SamplingState>("sampling")?.whole !== true)
    await sampleInto(parts, withSamples(recording, parts), recorded.seconds, wanted);
  const sampling = parts.json<SamplingState>("sampling");
  const profile = { ...withSamples(recording, parts), ...recorded.system };
  const path = tryWrite(wanted.out, () => new ProfileStore(wanted.out).write(profile));
  const lacks = [
    ...(recorded.lacks === undefined ? [] : [recorded.lacks]),
    ...(wanted.sample ? lacksOf(profile, sampling) : []),
  ];
  if (sampling?.whole || !wanted.sample) parts.remove();
  return { profile, path, lacks };
}

const aboutOf = ({ command, name, kind, gpu, soloNs }: Wanted): RecordingAbout => ({
  name,
  file: `the recording of ${command[0]}`,
  source: command.join(" "),
  ...(kind && { kind }),
  ...(gpu !== undefined && { gpu }),
  ...(soloNs !== undefined && { soloNs }),
});

/** Of the first run. */
interface Recorded {
  readonly seconds: number;
  readonly system: SystemMetrics;
  readonly lacks?: string;
}

/** One that failed leaves nothing to go on from. */
async function firstRun(parts: Parts, wanted: Wanted): Promise<Recorded> {
  try {
    return await recordInto(parts, wanted);
  } finally {
    if (parts.json("recorded") === undefined) parts.remove();
  }
}

async function recordInto(parts: Parts, wanted: Wanted): Promise<Recorded> {
  const { command, seconds, say } = wanted;
  const watch = wanted.watchSystem(process.env);
  say(
    `1 of ${wanted.sample ? 2 : 1}: recording until ${command[0]} ends, the GPU watched beside it`,
  );
  if (watch.others > 0)
    say(`${watch.others} other processes are on the GPU: the figures are not of this job alone`);
  try {
    const file = parts.path("recording");
    const ended = await record(command, file, seconds, (passed) =>
      say(`1: recording, ${passed.toFixed(0)} s`),
    );
    const { profile, steady } = importRecorded(readFileSync(file, "utf8"), aboutOf(wanted));
    const same = watch.gpu === profile.gpu.name;
    const system = same && steady ? watch.between(steady.fromNs, steady.toNs) : {};
    const why = watch.gpu === undefined ? watch.why : `the GPU watched is ${watch.gpu}`;
    const lacks = same ? {} : { lacks: `Utilisation, memory and power are unknown: ${why}` };
    const recorded = { seconds: ended.seconds, system, ...lacks };
    parts.write("recorded", recorded);
    if (ended.interrupted) throw stopped();
    return recorded;
  } finally {
    watch.stop();
  }
}

/** How far the second run has come. */
interface SamplingState {
  readonly runs: number;
  /** Of those with one pass each, how many are done. */
  readonly passes?: number;
  /** It ended by itself: what it did not see it would not see again. */
  readonly whole: boolean;
  readonly why?: string;
}

async function sampleInto(
  parts: Parts,
  soFar: WorkloadProfile,
  recordedSeconds: number,
  wanted: Wanted,
): Promise<void> {
  const { command, say } = wanted;
  const runs = parts.json<SamplingState>("sampling")?.runs ?? 0;
  const ncu = findNcu(process.env);
  if (ncu === undefined)
    return parts.write("sampling", { runs, whole: false, why: "there is no ncu on the PATH" });
  const seconds = SAMPLING_FACTOR * recordedSeconds + SAMPLING_START_SECONDS;
  const capability = soFar.gpu.computeCapability;
  if (wanted.onePass && capability === ONE_PASS_CAPABILITY)
    return passByPass(parts, soFar, { ncu, seconds }, wanted);
  if (wanted.onePass)
    say(
      `runs of one pass are known for compute capability ${ONE_PASS_CAPABILITY}, not for ${capability}: all in one run`,
    );
  const wanting = unsampled(soFar);
  if (wanting.length === 0) return parts.write("sampling", { runs, whole: true });
  say(
    `2 of 2: ncu looks at ${wanting.length} distinct kernels in another run, ${seconds.toFixed(0)} s at most`,
  );
  const log = parts.path(`samples-${runs}`);
  const sampled = await sampleWithNcu(command, {
    ncu,
    log,
    names: runs === 0 ? [] : [...new Set(wanting.map(({ name }) => name))],
    metrics: METRICS,
    seconds,
    progress: (passed) => say(`2: ncu, ${passed.toFixed(0)} s`),
  });
  const failed = sampled.kind === "failed";
  if (failed) rmSync(log, { force: true });
  parts.write("sampling", {
    runs: failed ? runs : runs + 1,
    whole: sampled.kind === "whole",
    ...(failed && { why: `ncu: ${sampled.why}` }),
    ...(sampled.kind === "cut" && { why: `its time of ${seconds.toFixed(0)} s was up` }),
  });
  if (sampled.kind === "interrupted") throw stopped();
}

/** Every kernel in each run, with other metrics. What a run did not see until its time was up stays unknown. */
async function passByPass(
  parts: Parts,
  { kernels }: WorkloadProfile,
  { ncu, seconds }: { readonly ncu: string; readonly seconds: number },
  { command, say }: Wanted,
): Promise<void> {
  const state = parts.json<SamplingState>("sampling");
  for (let done = state?.passes ?? 0; done < onePassRuns.length; done++) {
    say(
      `2 of 2: ncu looks at ${kernels.length} distinct kernels, run ${done + 1} of ${onePassRuns.length}, ${seconds.toFixed(0)} s at most`,
    );
    const log = parts.path(`samples-${done}`);
    const sampled = await sampleWithNcu(command, {
      ncu,
      log,
      names: [],
      metrics: onePassRuns[done] ?? [],
      seconds,
      progress: (passed) => say(`2: ncu, ${passed.toFixed(0)} s`),
    });
    if (sampled.kind === "interrupted") throw stopped();
    if (sampled.kind === "failed") {
      rmSync(log, { force: true });
      return parts.write("sampling", {
        runs: done,
        passes: done,
        whole: false,
        why: `ncu: ${sampled.why}`,
      });
    }
    const whole = done + 1 === onePassRuns.length;
    parts.write("sampling", { runs: done + 1, passes: done + 1, whole });
  }
}

/** With whatever has been sampled so far. */
function withSamples(profile: WorkloadProfile, parts: Parts): WorkloadProfile {
  const samples = parts.samples();
  if (samples.length === 0) return profile;
  const file = samples.map((one) => one.file).join(", ");
  const texts = samples.map(({ text }) => text);
  const about = { name: profile.name, kind: profile.kind, file, source: file };
  return withUtilisation(profile, importNcu(texts, about), file);
}

function lacksOf(profile: WorkloadProfile, state: SamplingState | undefined): string[] {
  const unknown = unsampled(profile).length;
  if (unknown === 0) return [];
  const all = profile.kernels.length;
  const which =
    unknown === all ? "The kernels' classes" : `The classes of ${unknown} of ${all} kernels`;
  const why = state?.why ?? "ncu did not see them run";
  const cure = state?.whole ? "" : "; the same command goes on from here";
  return [`${which} are unknown: ${why}${cure}`];
}

const stopped = () =>
  new UserError(
    "STOPPED",
    "Stopped before the profile was whole.",
    "The same command goes on from here; --fresh begins anew.",
  );

/** Results of the parts, in a folder beside the profile. */
interface Parts {
  path(part: string): string;
  text(part: string): string | undefined;
  json<T>(part: string): T | undefined;
  write(part: string, value: unknown): void;
  samples(): readonly { readonly file: string; readonly text: string }[];
  remove(): void;
}

function openParts(wanted: Wanted): Parts {
  const { command, name, out, kind, gpu, soloNs, seconds, onePass, fresh, say } = wanted;
  const folder = join(out, `.${encodeURIComponent(name)}.parts`);
  const path = (part: string) =>
    join(folder, /^samples-/.test(part) ? `${part}.csv` : `${part}.json`);
  const text = (part: string) =>
    existsSync(path(part)) ? readFileSync(path(part), "utf8") : undefined;
  const keep = (part: string, content: string) =>
    tryWrite(out, () => writeFileSync(path(part), content));
  const parts: Parts = {
    path,
    text,
    json: (part) => parsed(text(part)),
    write: (part, value) => keep(part, JSON.stringify(value)),
    samples: () =>
      readdirSync(folder)
        .filter((file) => /^samples-\d+\.csv$/.test(file) && hasLaunches(join(folder, file)))
        .map((file) => ({
          file: `ncu's ${basename(file)}`,
          text: readFileSync(join(folder, file), "utf8"),
        })),
    remove: () => tryWrite(out, () => rmSync(folder, { recursive: true, force: true })),
  };
  const asked = JSON.stringify({ command, kind, gpu, soloNs, seconds, onePass });
  const same = text("asked") === asked && parts.json("recorded") !== undefined;
  if (fresh || !same) parts.remove();
  else say(`what was kept of ${name} is used; --fresh begins anew`);
  tryWrite(out, () => mkdirSync(folder, { recursive: true }));
  keep("asked", asked);
  return parts;
}

/** Undefined when it was never written, or not to its end: then that part is done again. */
function parsed<T>(text: string | undefined): T | undefined {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as T);
  } catch {
    return undefined;
  }
}
