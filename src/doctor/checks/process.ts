import { pidNamespace } from "#agent";
import { gibibytes } from "#core";
import { type Finding, fail, pass, skip, warn } from "../facts/finding.ts";
import { type Surroundings, textOf } from "../facts/surroundings.ts";

/** The kernel calls it PROC_PID_INIT_INO. */
const MACHINES_OWN = 0xeffffffc;

export function checkPidNamespace(): Finding {
  const check = "PID namespace";
  return pidNamespace() === MACHINES_OWN
    ? pass(
        check,
        "This is the PID namespace of the machine: an agent sees the processes of all containers.",
      )
    : warn(
        check,
        "This is a PID namespace of its own, as of a container: an agent that starts here serves processes in here alone.",
        "Start the agent on the host, and give it to containers (docs/guide/containers.md).",
      );
}

/**
 * The driver locks two pages of the agent's for a best-effort context
 * (native/interposer/state/pages.cpp), otherwise a word for each of 4,096 streams
 * (native/interposer/high/tail.cpp). This is room for a few dozen contexts.
 */
const LOCKED_BYTES = 2 ** 20;

export function checkLockedMemory(around: Surroundings): Finding {
  const check = "locked memory";
  const limits = textOf(around, "/proc/self/limits") ?? "";
  const [, limit] = /^Max locked memory +(\S+)/m.exec(limits) ?? [];
  if (limit === undefined) return skip(check, "/proc/self/limits does not say the limit.");
  const enough = limit === "unlimited" || Number(limit) >= LOCKED_BYTES;
  return enough
    ? pass(
        check,
        `A process may lock ${limit === "unlimited" ? "any amount of" : gibibytes(Number(limit))} memory.`,
      )
    : fail(
        check,
        `A process may lock ${limit} bytes of memory, and a client may need ${LOCKED_BYTES} bytes, so that the GPU can read what the agent writes.`,
        'Raise the limit: "ulimit -l unlimited", LimitMEMLOCK=infinity in a systemd unit, --ulimit memlock=-1 for a container.',
      );
}
