// Orion's artifact publishes these profiles (eth-easl/orion, benchmarking/model_kernels; MIT),
// recorded on a V100 16 GB: Name, Profile (1 compute, 0 memory, -1 unknown), Memory_footprint (a
// placeholder), SM_usage (SMs needed), Duration (ns). A row is an operator. Files called …_fb0 hold
// only placeholders. Launches were serialised, so the sum of durations is no latency. There is no
// grid: a profile gets one block for each SM that is needed.
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { csvRows, readInput } from "#core";
import { badProfile } from "../model/errors.ts";
import type { KernelClass, KernelProfile, Step, WorkloadProfile } from "../model/types.ts";

const HEADER = "Name,Profile,Memory_footprint,SM_usage,Duration";
const classes: Readonly<Record<string, KernelClass>> = {
  "1": "compute",
  "0": "memory",
  "-1": "unknown",
};

export const readOrionFolder = (folder: string, source: string): readonly WorkloadProfile[] =>
  readdirSync(folder)
    .filter((file) => /_(fwd|fb1)(_new)?(\.csv)?$/.test(file))
    .sort()
    .map((file) => join(folder, file))
    .map((file) => importOrion(readInput(file).toString(), file, source));

export function importOrion(text: string, file: string, source: string): WorkloadProfile {
  const name = basename(file).replace(/(_new)?(\.csv)?$/, "");
  const [, pass] = /_(fwd|fb0|fb1)$/.exec(name) ?? [];
  if (pass === undefined)
    throw badProfile(
      file,
      "",
      "its name ends in neither _fwd nor _fb1, so what it is is not known.",
    );
  const rows = readRows(text, file);
  if (pass === "fb0" || rows.every(isPlaceholder))
    throw badProfile(file, "", "it holds placeholders, no measurements.");
  const kernels = new Map<string, { readonly place: number; readonly kernel: KernelProfile }>();
  const backward = pass === "fb1" ? rows.findIndex(({ name }) => /backward/i.test(name)) : -1;
  const sequence = rows.flatMap((row, i): Step[] => {
    const key = JSON.stringify(row);
    const known = kernels.get(key) ?? { place: kernels.size, kernel: kernelOf(row) };
    kernels.set(key, known);
    return [...(i === backward ? [BACKWARD] : []), { kernel: known.place }];
  });
  return {
    version: 1,
    name,
    kind: pass === "fwd" ? "inference" : "training",
    gpu: v100,
    source,
    soloNs: undefined,
    kernels: [...kernels.values()].map(({ kernel }) => kernel),
    sequence,
  };
}

/** The loss's gradient is the first kernel with "backward" in its name. */
const BACKWARD: Step = { mark: "backward" };

interface Row {
  readonly name: string;
  readonly class: KernelClass;
  readonly sms: number;
  readonly durationNs: number;
}

const COLUMNS = 5;

function readRows(text: string, file: string): readonly Row[] {
  const [header, ...rows] = csvRows(text);
  if (header?.fields.join(",") !== HEADER)
    throw badProfile(file, "line 1", `it is no kernel profile of Orion: not ${HEADER}.`);
  if (rows.length === 0) throw badProfile(file, "", "it has no rows below its header.");
  return rows.map(({ line, fields }) => {
    const place = `line ${line}`;
    // Names of templates contain commas, and are not quoted.
    const name = fields.slice(0, 1 - COLUMNS).join(",");
    const [profile = "", , sms = "", duration = ""] = fields.slice(1 - COLUMNS);
    const kind = classes[profile];
    if (fields.length < COLUMNS || name === "")
      throw badProfile(file, place, "it has fewer than five fields: cut short?");
    if (kind === undefined)
      throw badProfile(file, place, `Profile is "${profile}", not 1, 0 or -1.`);
    if (!/^[1-9]\d*$/.test(sms))
      throw badProfile(file, place, `SM_usage is ${JSON.stringify(sms)}, not a number of SMs.`);
    if (!/^\d+(\.\d+)?$/.test(duration))
      throw badProfile(file, place, `Duration is ${JSON.stringify(duration)}, not a number of ns.`);
    return { name, class: kind, sms: Number(sms), durationNs: Number(duration) };
  });
}

const isPlaceholder = (row: Row): boolean =>
  row.class === "unknown" && row.sms === 1 && row.durationNs === 7;

const v100 = { name: "Tesla V100-SXM2-16GB", computeCapability: "7.0", sms: 80 };

/** 1,024 threads of 64 registers take all registers of an SM, so each SM holds one block. */
const kernelOf = (row: Row): KernelProfile => ({
  name: row.name,
  grid: [row.sms, 1, 1],
  block: [1024, 1, 1],
  registers: 64,
  durationNs: { p50: row.durationNs, p95: row.durationNs },
  smsNeeded: row.sms,
  class: row.class,
});
