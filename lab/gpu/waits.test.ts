// How long a high client's bursts waited for the GPU, as the policy sees it.
import { expect, test } from "vitest";
import { type MeteredHigh, policyNamed } from "#policy";
import { quantile } from "#protocol";
import { h200, type KernelShape, workload } from "../../test/gpu/example.ts";
import { gatedBy } from "./arrangements.ts";
import type { Submission } from "./model/plan.ts";
import { runWindow } from "./run.ts";

const requests = (kernels: number, gapUs: number, us: number) =>
  workload(
    "requests",
    Array.from({ length: kernels }, (): KernelShape => ({ us, sms: 32, gapUs })),
    { kind: "inference", soloNs: 1000 * (kernels * Math.max(gapUs, us) + Math.min(gapUs, us)) },
  );
const training = workload("training", [{ us: 40 }], { soloNs: 40e3 });

/** The medians over two seconds, in us. */
function medians(profile: ReturnType<typeof workload>, submission: Submission, beside: boolean) {
  const sums = { ended: new Uint32Array(), waited: new Uint32Array() };
  const add = (to: keyof typeof sums, { [to]: counts }: MeteredHigh) => {
    if (counts) sums[to] = counts.map((n, i) => n + (sums[to][i] ?? 0));
  };
  const seen = {
    ...policyNamed("off"),
    remember({ high }: { readonly high: readonly MeteredHigh[] }) {
      for (const one of high) {
        add("ended", one);
        add("waited", one);
      }
      return { level: 0, pausedUntilMs: undefined, clients: new Map() };
    },
  };
  runWindow({
    arrangement: gatedBy("watched", seen, "mps"),
    high: { profile, submission, arrivalsNs: Array.from({ length: 80 }, (_, i) => i * 25e6) },
    bestEffort: beside ? [{ profile: training, submission: "kernels" }] : [],
    seconds: 2,
    gpu: h200(),
  });
  return { lasted: quantile(sums.ended, 0.5), waited: quantile(sums.waited, 0.5) };
}

test("a request that launches kernel by kernel waits for its last kernel, and co-located also for its delay", () => {
  const profile = requests(200, 20, 5);
  const alone = medians(profile, "kernels", false);
  expect(alone.lasted).toBeGreaterThan(4000);
  expect(alone.waited).toBeLessThan(20);
  const { lasted, waited } = medians(profile, "kernels", true);
  expect(waited).toBeGreaterThan(400);
  expect((lasted - waited) / (alone.lasted - alone.waited)).toBeCloseTo(1, 1);
});

test("a request in a graph waits for nearly all of it", () => {
  const { lasted, waited } = medians(requests(200, 20, 20), "graph", false);
  expect(waited / lasted).toBeGreaterThan(0.99);
});

test("a request whose launches may fill the driver's queue counts as waiting throughout, however many it has", () => {
  const ahead = medians(requests(1200, 1, 8), "kernels", false);
  expect(ahead.waited).toBe(ahead.lasted);
  const fits = medians(requests(900, 2, 8), "kernels", false);
  expect(fits.waited).toBeLessThan(0.9 * fits.lasted);
  expect(medians(requests(3000, 6, 4), "kernels", false).waited).toBeLessThan(20);
});
