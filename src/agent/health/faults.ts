import type { Vitals } from "../sensors/sensor.ts";
import type { Counts } from "./values.ts";

/** SysMonitor remembers entries of Overlimit for as long. */
const COUNTED_SECONDS = 7_200;

// The GPU is still whole after these, as NVIDIA's k8s-device-plugin lists them
// (internal/rm/health.go).
const ofPrograms = new Set([13, 31, 43, 45, 68, 109]);

/** After these of NVIDIA's XID catalogue the GPU serves nobody until it is reset. */
const fatal = new Map([
  [64, "a bad memory row could not be remapped"],
  [79, "it has fallen off the bus"],
  [95, "an ECC error was not contained"],
]);

export class Faults {
  #xids: readonly number[] = [];
  #xidsKnown = false;
  #ecc: readonly { readonly at: number; readonly errors: number }[] = [];
  #eccTotal: number | undefined;
  #fatal: string | undefined;

  get fatal(): string | undefined {
    return this.#fatal;
  }

  /** Returns the XID errors of this sample. `now` is in seconds. */
  note({ xids, eccErrors }: Vitals, now: number): readonly number[] {
    const from = now - COUNTED_SECONDS;
    this.#xidsKnown ||= xids !== undefined;
    const bad = (xids ?? []).filter((xid) => !ofPrograms.has(xid));
    this.#xids = [...this.#xids.filter((at) => at > from), ...bad.map(() => now)];
    for (const xid of bad) {
      const why = fatal.get(xid);
      if (why !== undefined) this.#fatal = `XID ${xid}: ${why}`;
    }
    const errors =
      eccErrors === undefined || this.#eccTotal === undefined ? 0 : eccErrors - this.#eccTotal;
    if (eccErrors !== undefined) this.#eccTotal = eccErrors;
    this.#ecc = this.#ecc.filter(({ at }) => at > from);
    if (errors > 0) this.#ecc = [...this.#ecc, { at: now, errors }];
    return xids ?? [];
  }

  get counts(): Counts {
    return {
      xids: this.#xidsKnown ? this.#xids.length : undefined,
      eccErrors:
        this.#eccTotal === undefined
          ? undefined
          : this.#ecc.reduce((sum, { errors }) => sum + errors, 0),
    };
  }
}
