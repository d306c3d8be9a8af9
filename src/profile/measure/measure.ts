// The command runs twice: the interposer notes launches, then Nsight Compute measures how busy
// kernels keep the GPU. Results of each part are kept until all are done, so the same command
// continues where it was stopped.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { tryWrite, UserError } from "#core";
import { withoutSamples, withUtilisation } from "../importers/merge.ts";
import { importNcu } from "../importers/ncu.ts";
import { ProfileStore } from "../model/store.ts";
import type { SystemMetrics, WorkloadKind, WorkloadProfile } from "../model/types.ts";
import { importRecorded, type RecordingAbout } from "../recording/recording.ts";
import { findNcu, hasLaunches, METRICS, sampleWithNcu } from "./ncu.ts";
import { ONE_PASS_CAPABILITY, onePassRuns } from "./one-pass.ts";
import { record } from "./record.ts";

const SAMPLING_FACTOR = 3;
const SAMPLING_START_SECONDS = 60;

export interface Wanted {
  readonly command: readonly [string, ...string[]];
  readonly name: string;
  readonly out: string;
  readonly kind: WorkloadKind | undefined;
  readonly gpu: string | undefined;
  readonly soloNs: number | undefined;
  readonly seconds: number | undefined;
  readonly sample: boolean;
  readonly onePass: boolean;
  readonly fresh: boolean;
  readonly say: (text: string) => void;
  readonly watchSystem: (env: NodeJS.ProcessEnv) => SystemWatch;
}

export interface SystemWatch {
  /** undefined where none can be read; `why` says why. */
  readonly gpu: string | undefined;
  readonly why: string;
  readonly others: number;
  stop(): void;
  /** Memory is the maximum, less what was used before; all others are means. */
  between(fromNs: number, toNs: number): SystemMetrics;
}

export interface Measured {
  readonly profile: WorkloadProfile;
  readonly path: string;
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

interface Recorded {
  readonly seconds: number;
  readonly system: SystemMetrics;
  readonly lacks?: string;
}

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
    if (ended.interrupted) throw interruptedError();
    return recorded;
  } finally {
    watch.stop();
  }
}

interface SamplingState {
  readonly runs: number;
  readonly passes?: number;
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
  const wanting = withoutSamples(soFar);
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
  if (sampled.kind === "interrupted") throw interruptedError();
}

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
    if (sampled.kind === "interrupted") throw interruptedError();
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

function withSamples(profile: WorkloadProfile, parts: Parts): WorkloadProfile {
  const samples = parts.samples();
  if (samples.length === 0) return profile;
  const file = samples.map((one) => one.file).join(", ");
  const texts = samples.map(({ text }) => text);
  const about = { name: profile.name, kind: profile.kind, file, source: file };
  return withUtilisation(profile, importNcu(texts, about), file);
}

function lacksOf(profile: WorkloadProfile, state: SamplingState | undefined): string[] {
  const unknown = withoutSamples(profile).length;
  if (unknown === 0) return [];
  const all = profile.kernels.length;
  const which =
    unknown === all ? "The kernels' classes" : `The classes of ${unknown} of ${all} kernels`;
  const why = state?.why ?? "ncu did not see them run";
  const cure = state?.whole ? "" : "; the same command goes on from here";
  return [`${which} are unknown: ${why}${cure}`];
}

const interruptedError = () =>
  new UserError(
    "STOPPED",
    "Stopped before the profile was whole.",
    "The same command goes on from here; --fresh begins anew.",
  );

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
    json: (part) => parse(text(part)),
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

/** undefined if it was not written to its end: then that part is done again. */
function parse<T>(text: string | undefined): T | undefined {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as T);
  } catch {
    return undefined;
  }
}
