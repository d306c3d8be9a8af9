import { expect, test } from "vitest";
import { caveats } from "#protocol";
import { Changes, type ClientStanding, type Standing } from "./changes.ts";
import { logLine } from "./log.ts";

const serve: ClientStanding = {
  id: "0 7 1",
  facts: { client: "serve", class: "high", pid: 7 },
  high: true,
  state: undefined,
  caveats: 0,
  unhooked: 0,
  memoryRefusals: 0,
  memoryQuota: 2 ** 30,
};

const train: ClientStanding = {
  ...serve,
  id: "0 8 1",
  facts: { client: "train", class: "best-effort", pid: 8 },
  high: false,
};

function changesHere() {
  const said: string[] = [];
  const changes = new Changes((event, facts) => void said.push(logLine(event, facts)));
  /** The entries that follow from one GPU's current state. */
  const note = (change: Partial<Standing>): readonly string[] => {
    changes.note([{ gpu: "GPU-a", paused: false, level: undefined, clients: [], ...change }]);
    return said.splice(0);
  };
  const leaves = (client: ClientStanding): readonly string[] => {
    changes.noteLeaving("GPU-a", client);
    return said.splice(0);
  };
  return { changes, note, leaves, said };
}

test("nothing is said of what stays as it is", () => {
  const { note } = changesHere();
  const now = { level: 0, clients: [serve, train] };
  expect(note(now)).toEqual([]);
  expect(note(now)).toEqual([]);
});

test("levels, pauses and states of objectives are said when they change", () => {
  const { note } = changesHere();
  const state = (state: ClientStanding["state"]) => [{ ...serve, state }];
  expect(note({ level: 0, clients: state("learning") })).toEqual([
    "objective state=learning client=serve class=high pid=7 gpu=GPU-a",
  ]);
  expect(note({ level: 2, paused: true, clients: state("learning") })).toEqual([
    "best-effort work paused gpu=GPU-a",
    "level from=0 to=2 gpu=GPU-a",
  ]);
  expect(note({ level: 0, clients: state("missed") })).toEqual([
    "best-effort work resumed gpu=GPU-a",
    "level from=2 to=0 gpu=GPU-a",
    "objective state=missed client=serve class=high pid=7 gpu=GPU-a",
  ]);
});

test("each reason why a client is not wholly protected or held back is said once", () => {
  const { note } = changesHere();
  const first = {
    clients: [
      { ...serve, caveats: caveats.ranks },
      { ...train, unhooked: 2 },
    ],
  };
  expect(note(first)).toEqual([
    'not wholly protected client=serve class=high pid=7 gpu=GPU-a because="it is one rank of several"',
    'not wholly held back client=train class=best-effort pid=8 gpu=GPU-a because="it makes calls that Cotenant does not know"',
  ]);
  // A client writes these words itself: going back and forth does not fill the log.
  expect(note({ clients: [serve, train] })).toEqual([]);
  expect(note(first)).toEqual([]);
  expect(note({ clients: [{ ...serve, caveats: caveats.ranks | caveats.pastUs }] })).toEqual([
    'not wholly protected client=serve class=high pid=7 gpu=GPU-a because="it has loaded a library past Cotenant"',
  ]);
});

test("refused allocations are said at first and whenever they have doubled", () => {
  const { note } = changesHere();
  const said = [1, 1, 2, 3, 4, 7, 100, 100].flatMap((memoryRefusals) =>
    note({ clients: [{ ...train, memoryRefusals }] }),
  );
  expect(said.map((line) => /times=(\d+)/.exec(line)?.[1])).toEqual(["1", "2", "4", "100"]);
});

test("what is refused just before a client leaves is logged, and nothing twice", () => {
  const { note, leaves } = changesHere();
  note({ clients: [{ ...train, memoryRefusals: 4 }] });
  expect(leaves({ ...train, memoryRefusals: 4 })).toEqual([]);
  expect(leaves({ ...train, memoryRefusals: 5 })).toEqual([
    "memory refused times=5 quota=1073741824 client=train class=best-effort pid=8 gpu=GPU-a",
  ]);
  const shortLived = { ...train, id: "0 10 1", memoryRefusals: 1 };
  expect(leaves(shortLived)).toHaveLength(1);
});

test("another process in the same slot is somebody else", () => {
  const { note } = changesHere();
  note({ clients: [{ ...train, memoryRefusals: 5 }] });
  const next = { ...train, id: "0 9 1", memoryRefusals: 1 };
  expect(note({ clients: [next] })).toHaveLength(1);
});
