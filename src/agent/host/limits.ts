import { readFileSync } from "node:fs";
import { errors, parseBytes } from "#core";

export interface HostLimits {
  /** The kernel's syntax for a list of CPUs: 0-3,8. */
  readonly cpus?: string;
  readonly weight?: number;
  /** In bytes: beyond it the kernel reclaims their memory first. */
  readonly memory?: number;
}

/** A text is "cpus=2-7", "weight=10" or "memory=64GiB". Throws a UserError. */
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

export function checkCpus(limits: HostLimits | undefined, online = onlineCpus()): void {
  const wanted = limits?.cpus;
  if (wanted === undefined) return;
  const there = new Set(cpusIn(online));
  if (!cpusIn(wanted).every((cpu) => there.has(cpu))) throw errors.noSuchCpus(wanted, online);
}

const onlineCpus = () => readFileSync("/sys/devices/system/cpu/online", "utf8").trim();
const MAX_CPUS = 8192;

const cpusIn = (list: string): readonly number[] =>
  list.split(",").flatMap((part) => {
    const [first = 0, last = first] = part.split("-").map(Number);
    const count = Math.min(MAX_CPUS, Math.max(1, last - first + 1));
    return [...Array.from({ length: count }, (_, i) => first + i), last];
  });
