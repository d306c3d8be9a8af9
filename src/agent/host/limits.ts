// What the operator gives best-effort jobs of the host: `up --host-guard`.
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
