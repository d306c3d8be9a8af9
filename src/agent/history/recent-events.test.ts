import { expect, test } from "vitest";
import { RecentEvents } from "./recent-events.ts";

const entry = (event: string) => ({ time: "2026-01-01T00:00:00.000Z", event, facts: {} });

test("what is logged goes to the log and is kept with its time, behind what was logged before", () => {
  const said: string[] = [];
  const recent = new RecentEvents(() => "2026-01-02T00:00:00.000Z");
  recent.begin([entry("stopping")]);
  recent.keeping((event) => said.push(event))("started", { pid: 7 });
  expect(said).toEqual(["started"]);
  expect(recent.entries).toEqual([
    entry("stopping"),
    { time: "2026-01-02T00:00:00.000Z", event: "started", facts: { pid: 7 } },
  ]);
});

test("only the newest are kept, and no text is longer than it may be", () => {
  const recent = new RecentEvents(() => "");
  recent.begin(Array.from({ length: 500 }, (_, i) => entry(`${i}`)));
  expect([recent.entries.length, recent.entries[0]?.event]).toEqual([200, "300"]);
  recent.keeping(() => {})("attached", { client: "x".repeat(10_000) });
  expect(recent.entries.length).toBe(200);
  expect(String(recent.entries.at(-1)?.facts.client).length).toBe(301);
});
