import type {
  ClientView,
  EventView,
  GpuUpdate,
  GpuView,
  Snapshot,
  SnapshotUpdate,
} from "#dashboard";

export class SentSnapshots {
  #clients: ReadonlyMap<string, ReadonlySet<ClientView>> = new Map();
  #events: readonly EventView[] = [];

  updateTo(snapshot: Snapshot): SnapshotUpdate {
    const { gpus, events } = snapshot;
    const before = this.#events;
    const areSame =
      events.length === before.length && events.every((event, i) => event === before[i]);
    const update = {
      ...snapshot,
      gpus: gpus.map((gpu) => this.#gpuUpdate(gpu)),
      events: areSame ? undefined : events,
    };
    this.#events = events;
    this.#clients = new Map(gpus.map(({ uuid, clients }) => [uuid, new Set(clients)]));
    return update;
  }

  #gpuUpdate(gpu: GpuView): GpuUpdate {
    const before = this.#clients.get(gpu.uuid);
    const clients = gpu.clients.map((client) => (before?.has(client) ? client.id : client));
    return { ...gpu, clients };
  }
}
