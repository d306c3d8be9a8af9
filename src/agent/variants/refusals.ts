// Requests that took more time or memory than allowed: whoever asks for the same once more is refused at once. Only so
// many are remembered, and only while the agent runs: on a machine that is less busy, or with more memory, the same
// request may succeed.
import { createHash } from "node:crypto";

const MAX_REFUSALS = 256;

export class Refusals {
  /** Oldest first. */
  readonly #reasons = new Map<string, string>();

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

/** A key that is equal for equal requests. */
export const keyOf = (kernel: string, image: Uint8Array): string =>
  createHash("sha256").update(`${kernel}\0`).update(image).digest("hex");
