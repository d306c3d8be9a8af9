// A reader of the live stream fills in again whatever the agent leaves out.
import fc from "fast-check";
import { expect, test } from "vitest";
import { eventParser, type Snapshot } from "#dashboard";
import { exampleSnapshot, gpuOf, missed, training } from "../../../test/dashboard/example.ts";
import { SentSnapshots } from "./sent.ts";

const client = (slot: number, change = {}) =>
  training({ id: `best-effort ${slot} ${slot}`, ...change });

/** A stream from the agent to a reader; returns what the reader got of each snapshot, and how it was sent. */
function stream() {
  const sent = new SentSnapshots();
  let got: Snapshot | undefined;
  const parse = eventParser({
    snapshot: (snapshot) => {
      got = snapshot;
    },
    timeline: () => {},
    worst: () => {},
  });
  return (snapshot: Snapshot) => {
    const update = sent.updateTo(snapshot);
    parse(`event: snapshot\ndata: ${JSON.stringify(update)}\n\n`);
    return { update, got };
  };
}

const plain = (value: unknown) => JSON.parse(JSON.stringify(value));

test("a client that is as before is sent as its id, and events only when there are new ones", () => {
  const send = stream();
  const [one, other] = [missed(), client(1)];
  const first = exampleSnapshot([gpuOf([one, other])]);
  expect(send(first).update.gpus[0]?.clients).toEqual([one, other]);
  const changed = client(1, { badge: "changed" });
  const second = { ...first, gpus: [gpuOf([one, changed])] };
  const { update, got } = send(second);
  expect(update.gpus[0]?.clients).toEqual([one.id, changed]);
  expect(update.events).toBeUndefined();
  expect(got).toEqual(plain(second));
});

test("whatever comes, goes and changes, the reader has the whole snapshot", () => {
  const clients = Array.from({ length: 6 }, (_, i) => [client(i), client(i, { badge: "other" })]);
  const some = fc.array(fc.tuple(fc.nat(5), fc.nat(1)), { maxLength: 6 });
  const events = fc.nat(3);
  fc.assert(
    fc.property(fc.array(fc.tuple(some, some, events), { maxLength: 10 }), (looks) => {
      const send = stream();
      const { events: all } = exampleSnapshot();
      for (const [here, there, count] of looks) {
        const on = (chosen: readonly (readonly [number, number])[]) =>
          [...new Map(chosen)].flatMap(([slot, version]) => clients[slot]?.[version] ?? []);
        const gpus = [gpuOf(on(here)), { ...gpuOf(on(there)), uuid: "GPU-b" }];
        const snapshot = { ...exampleSnapshot(gpus), events: all.slice(0, count) };
        expect(send(snapshot).got).toEqual(plain(snapshot));
      }
    }),
  );
});
