import type { ClientView, EventView, LiveEvents, Snapshot, SnapshotUpdate } from "./contract.ts";

export type EventHandlers = {
  readonly [E in Exclude<keyof LiveEvents, "snapshot">]: (data: LiveEvents[E]) => void;
} & { readonly snapshot: (snapshot: Snapshot) => void };

export function eventParser(handlers: EventHandlers): (piece: string) => void {
  const completed = completion();
  let rest = "";
  return (piece) => {
    const blocks = (rest + piece).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const [, event = "", data = ""] = /^event: (\w+)\ndata: (.*)$/.exec(block) ?? [];
      if (event === "snapshot") handlers.snapshot(completed(JSON.parse(data)));
      else if (event === "timeline" || event === "worst") handlers[event](JSON.parse(data));
    }
  };
}

/** An older agent says nothing of jobs. */
const noJob = { size: "", processes: [] };

function completion(): (update: SnapshotUpdate) => Snapshot {
  const known = new Map<string, ReadonlyMap<string, ClientView>>();
  let events: readonly EventView[] = [];
  return (update) => {
    events = update.events ?? events;
    const gpus = update.gpus.map((gpu) => {
      const before = known.get(gpu.uuid);
      const clients = gpu.clients.flatMap((client) =>
        typeof client === "string" ? (before?.get(client) ?? []) : { ...noJob, ...client },
      );
      known.set(gpu.uuid, new Map(clients.map((client) => [client.id, client])));
      return { ...gpu, clients, parts: gpu.parts ?? [] };
    });
    return { ...update, jobs: update.jobs ?? [], gpus, events };
  };
}
