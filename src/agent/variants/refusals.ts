// A request that took too much time or memory is refused the next time. The number is limited, and
// a restart forgets: the same request may succeed on a less busy machine.
import { createHash } from "node:crypto";

const MAX_REFUSALS = 256;

export class Refusals {
  readonly #reasons = new Map<string, string>(); // the oldest first

  add(key: string, reason: string): void {
    this.#reasons.set(key, reason);
    const [oldest] = this.#reasons.keys();
    if (this.#reasons.size > MAX_REFUSALS && oldest !== undefined) this.#reasons.delete(oldest);
  }

  of(key: string): string | undefined {
    return this.#reasons.get(key);
  }

  get all(): readonly (readonly [key: string, reason: string])[] {
    return [...this.#reasons];
  }
}

export const keyOf = (kernel: string, image: Uint8Array): string =>
  createHash("sha256").update(`${kernel}\0`).update(image).digest("hex");
