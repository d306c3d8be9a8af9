// Records the bursts of the high clients of an agent, one by one, as their slots have them: for the tests of steps.
//   npx tsx bench/steps/record.ts DIR SECONDS       DIR: of the agent; JSON on stdout
import { closeSync, openSync, readlinkSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import {
  BurstRing,
  MappedRange,
  openFilesOf,
  placeOf,
  REGION_LINK,
  recognise,
  runningAgent,
} from "#agent";
import { HighSlot, view } from "#protocol";

const [directory = "", seconds = "10"] = process.argv.slice(2);
const agent = runningAgent(directory);
if (!agent) throw new Error(`no agent runs at ${directory}`);

const rings = openFilesOf(agent.pid, `${REGION_LINK}-high-`).map((path) => {
  const slot = Number(/-high-(\d+)/.exec(readlinkSync(path))?.[1]);
  const { size } = placeOf({ kind: "high", slot });
  const range = new MappedRange(size);
  const fd = openSync(path, "r+");
  range.put(fd, 0, size);
  closeSync(fd);
  return { slot, ring: new BurstRing(view(HighSlot, range.buffer)), bursts: [] as number[][] };
});

for (const until = Date.now() + 1000 * Number(seconds); Date.now() < until; await pause(50))
  for (const { ring, bursts } of rings) {
    const { bursts: ended, gap } = ring.read(Number(process.hrtime.bigint()));
    // Bursts before a gap have nothing to do with those after it.
    if (gap && bursts.length > 0) bursts.length = 0;
    for (const { begin, end, waited, launches } of ended)
      bursts.push([begin, end, waited, launches]);
  }

const shapeOf = (bursts: readonly number[][]) => {
  const last = bursts.slice(-1000);
  const shape = recognise(
    last.map(([begin = 0, end = 0, waited = 0, launches = 0]) => ({
      begin,
      end,
      waited,
      launches,
    })),
  );
  return (
    shape && {
      ...shape,
      mainLaunches: [...shape.mainLaunches],
      shortLaunches: [...shape.shortLaunches],
    }
  );
};

console.log(
  JSON.stringify({
    fields: ["begin ns", "end ns", "waited ns", "launches"],
    clients: rings.map(({ slot, bursts }) => ({ slot, shape: shapeOf(bursts) ?? null, bursts })),
  }),
);
