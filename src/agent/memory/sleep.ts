// Services park by themselves when idle (native/interposer/parking/parking.cpp); here it is logged.
import type { Client, ServedGpu } from "../gpus/gpu.ts";
import type { Log } from "../log/log.ts";
import { movableMemory } from "./movable.ts";

interface Activity {
  readonly asleep: boolean;
  readonly woken: number;
}

export class Sleepers {
  readonly #log: Log;
  readonly #seen = new WeakMap<Client, Activity>();

  constructor(log: Log) {
    this.#log = log;
  }

  note(gpus: readonly ServedGpu[]): void {
    for (const gpu of gpus)
      for (const client of gpu.clients) {
        const slot = client.class === "high" ? gpu.region.memory.high[client.slot] : undefined;
        const memory = slot && movableMemory(slot.memory, undefined, 0);
        if (!memory) continue;
        const before = this.#seen.get(client) ?? { asleep: false, woken: 0 };
        const asleep = memory.state === "parked";
        const facts = { client: client.name, pid: client.pid, gpu: gpu.uuid };
        if (memory.woken > before.woken)
          this.#log("service woke", {
            ...facts,
            firstAnswerMs: Math.round(memory.firstAnswerMs ?? 0),
          });
        if (asleep && !(before.asleep && memory.woken === before.woken))
          this.#log("service sleeps", { ...facts, bytes: memory.parkedBytes });
        this.#seen.set(client, { asleep, woken: Math.max(before.woken, memory.woken) });
      }
  }
}
