// The host's resources that the operator leaves to best-effort jobs: `up --host-guard`.
import { readFileSync } from "node:fs";
import { errors, parseBytes } from "#core";

export interface HostLimits {
  /** As the kernel writes a list of CPUs: 0-3,8. */
  readonly cpus?: string;
  /** 1 to 10,000, as cpu.weight: other cgroups have 100. */
  readonly weight?: number;
  /** In bytes: beyond it the kernel takes memory back from them first, and slows them down. */
  readonly memory?: number;
}

/** "cpus=2-7", "weight=10" or "memory=64GiB" each; throws a UserError. undefined: none was given. */
export function parseHostLimits(texts: readonly string[]): HostLimits | undefined {
  const given = texts.map((text): HostLimits => {
    const [name, value = ""] = text.split(/=(.*)/s);
    if (name === "cpus" && /^\d+(-\d+)?(,\d+(-\d+)?)*$/.test(value)) return { cpus: value };
    if (name === "weight" && /^\d+$/.test(value) && Number(value) >= 1 && Number(value) <= 10_000)
      return { weight: Number(value) };
    if (name === "memory") return { memory: parseBytes(value) };
    throw errors.badHostLimit(text);
  });
  return given.length === 0 ? undefined : Object.assign({}, ...given);
}

/** Throws a UserError if there is no such CPU. `online`: the kernel's list of those that there are. */
export function checkCpus(limits: HostLimits | undefined, online = onlineCpus()): void {
  const wanted = limits?.cpus;
  if (wanted === undefined) return;
  const there = new Set(cpusIn(online));
  if (!cpusIn(wanted).every((cpu) => there.has(cpu))) throw errors.noSuchCpus(wanted, online);
}

const onlineCpus = () => readFileSync("/sys/devices/system/cpu/online", "utf8").trim();

/** Longer ranges are checked by their ends. */
const MAX_CPUS = 8192;

/** "0-2,8" → 0, 1, 2, 8. */
const cpusIn = (list: string): readonly number[] =>
  list.split(",").flatMap((part) => {
    const [first = 0, last = first] = part.split("-").map(Number);
    const count = Math.min(MAX_CPUS, Math.max(1, last - first + 1));
    return [...Array.from({ length: count }, (_, i) => first + i), last];
  });
