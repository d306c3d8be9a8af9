// Clients take turns, so that one with many requests keeps no other client waiting.
import type { VariantReply } from "./maker.ts";

export interface Waiting {
  readonly path: string;
  readonly client: number;
  settle(answer: VariantReply): void;
}

export class Turns {
  readonly #waiting = new Map<number, readonly Waiting[]>();

  get length(): number {
    return [...this.#waiting.values()].reduce((sum, { length }) => sum + length, 0);
  }

  lengthOf(client: number): number {
    return this.#waiting.get(client)?.length ?? 0;
  }

  add(request: Waiting): void {
    this.#waiting.set(request.client, [...(this.#waiting.get(request.client) ?? []), request]);
  }

  next(busy: ReadonlySet<number | undefined>): Waiting | undefined {
    return [...this.#waiting].find(([client]) => !busy.has(client))?.[1][0];
  }

  take(request: Waiting): void {
    const [, ...rest] = this.#waiting.get(request.client) ?? [];
    this.#waiting.delete(request.client);
    if (rest.length > 0) this.#waiting.set(request.client, rest);
  }

  remove(request: Waiting): boolean {
    const own = this.#waiting.get(request.client) ?? [];
    const others = own.filter((one) => one !== request);
    if (others.length > 0) this.#waiting.set(request.client, others);
    else this.#waiting.delete(request.client);
    return others.length < own.length;
  }

  removeAll(): readonly Waiting[] {
    const all = [...this.#waiting.values()].flat();
    this.#waiting.clear();
    return all;
  }
}
