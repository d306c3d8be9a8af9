// Writes of a node part whose GPUs' load and memory wander, counted by a real API server.
import { expect, test } from "vitest";
import { writesOf } from "../../bench/kubernetes/counts.ts";
import { asAdministrator } from "./agents.ts";
import { installCotenant } from "./cotenant.ts";
import { clusterHere, whyNot } from "./here.ts";
import { addNodes } from "./nodes.ts";
import { wander } from "./wandering.ts";

const why = whyNot();
if (why !== undefined) console.error(`SKIPPED: writes of a node part, because ${why}`);

test.skipIf(why !== undefined)(
  "a node part writes so little in an hour that a thousand write 50 times a second, and slices 5 times",
  async () => {
    const before = await writesOf(cluster());
    await wander(asAdministrator(cluster()), "a", { seconds: 3600, seed: 1, begin: Date.now() });
    const after = await writesOf(cluster());
    const count = (what: RegExp) =>
      [...after]
        .filter(([kind]) => what.test(kind))
        .reduce((sum, [kind, n]) => sum + n - (before.get(kind) ?? 0), 0);
    const slices = count(/^resourceslices/);
    const all = slices + count(/^gpunodes/);
    // A heartbeat each minute, at least.
    expect(all).toBeGreaterThanOrEqual(60);
    expect([all / 3.6, slices / 3.6]).toEqual([
      expect.toSatisfy((n: number) => n <= 50, "at most 50"),
      expect.toSatisfy((n: number) => n <= 5, "at most 5"),
    ]);
  },
);

const cluster = clusterHere(async (started) => {
  await installCotenant(started);
  await addNodes(started, ["a"], { gpus: 8 });
});
