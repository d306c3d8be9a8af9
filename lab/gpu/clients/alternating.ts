// Two trainings that alternate their passes, as in Tick-Tock. The forward pass of one runs concurrently with the backward pass
// (and the update) of the other. At the end of each pass, both wait for the slower one.

import type { Machine } from "../machine/machine.ts";
import { END, type Owner, type Stream } from "../machine/stream.ts";
import type { Plan } from "../model/plan.ts";
import type { Request } from "./high.ts";

/** Each client that arrives waits until all have arrived. */
export class Barrier {
  readonly #clients: Alternating[] = [];
  #arrived = 0;

  join(client: Alternating): void {
    this.#clients.push(client);
  }

  arrive(): void {
    this.#arrived++;
    if (this.#arrived < this.#clients.length) return;
    this.open();
  }

  open(): void {
    this.#arrived = 0;
    for (const client of this.#clients) client.begin();
  }
}

export class Alternating implements Owner {
  readonly stream: Stream;
  /** One for each iteration, including the time in which it waited. */
  readonly requests: Request[] = [];
  readonly doneNs: number[] = [];
  readonly #machine: Machine;
  readonly #barrier: Barrier;
  readonly #plan: Plan;
  readonly #backwardAt: number;
  #late: boolean;
  #step = 0;
  #begunNs = 0;

  /**
   * `backwardAt`: the step with which its backward pass begins. `late`: it begins while the other is in its second
   * pass.
   */
  constructor(
    machine: Machine,
    barrier: Barrier,
    plan: Plan,
    options: { readonly priority: number; readonly backwardAt: number; readonly late: boolean },
  ) {
    this.#machine = machine;
    this.#barrier = barrier;
    this.#plan = plan;
    this.#backwardAt = options.backwardAt;
    this.#late = options.late;
    this.stream = machine.addStream(machine.contexts.add(), plan, this, options);
    barrier.join(this);
  }

  /** Begins the next pass. */
  begin(): void {
    if (this.#late) {
      this.#late = false;
      this.#barrier.arrive();
      return;
    }
    const { now } = this.#machine;
    if (this.#step === 0) this.#begunNs = now;
    const until = this.#step < this.#backwardAt ? this.#backwardAt : this.#plan.length;
    let cpu = now;
    for (; this.#step < until; this.#step++) {
      cpu += this.#plan.cpuNs[this.#step] ?? 0;
      this.stream.push(this.#step, cpu);
    }
    this.stream.push(END, cpu);
    this.#machine.kick(this.stream);
  }

  onEnd(): void {
    if (this.#step === this.#plan.length) {
      const { now } = this.#machine;
      const ns = now - this.#begunNs;
      this.requests.push({ arrivalNs: this.#begunNs, latencyNs: ns, serviceNs: ns });
      this.doneNs.push(now);
      this.#step = 0;
    }
    this.#barrier.arrive();
  }

  onBorder(): void {}
  mayPass(): boolean {
    return true;
  }
  refill(): void {}
  onKernel(): void {}
}
