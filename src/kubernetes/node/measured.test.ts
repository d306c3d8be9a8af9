import { expect, test } from "vitest";
import type { GpuStatus } from "#agent";
import { Measuring } from "./measured.ts";

const claim = {
  ...{ namespace: "default", uid: "1", name: "cotenant-1", podUid: "33", podName: "train" },
  ...{ gpu: "GPU-1", memoryBytes: 5, devices: [] },
};
const gpu = (retained: number | undefined, more: object = {}) =>
  [
    {
      uuid: "GPU-1",
      high: [{ slowdown: 0.02 }],
      bestEffort: [{ identity: { pod: "33" }, keptShare: retained }],
      ...more,
    },
  ] as unknown as readonly GpuStatus[];

const setting = { policy: "cotenant", mode: "isolated" } as const;

/** Writes that are due in some minutes of samples, one each second. */
function minutes(count: number, measuring: Measuring, from: number, gpus: readonly GpuStatus[]) {
  const due = [];
  for (let s = 0; s <= 60 * count; s++)
    due.push(...measuring.look([claim], gpus, setting, from + 1000 * s).values());
  return due;
}
const written = { mergePlain: async () => ({}) } as never;

test("the mean of a minute is due, and afterwards that of ten if it is another one", async () => {
  const measuring = new Measuring();
  const [mean, ...more] = minutes(1, measuring, 0, gpu(0.7));
  expect([mean, more]).toMatchObject([{ retained: 0.7, slowdown: 1.02 }, []]);
  if (mean) await measuring.write(written, claim, mean, 0);
  expect(minutes(10, measuring, 61_000, gpu(0.73))).toEqual([]);
  expect(minutes(9, measuring, 662_000, gpu(0.6))).toEqual([]);
  // One sample of the minutes before is in it.
  expect(minutes(1, measuring, 1_203_000, gpu(0.6))).toMatchObject([
    { retained: expect.closeTo(0.6, 2), slowdown: 1.02 },
  ]);
});

test("a service that takes twice as long is told of after twenty windows, and again as any other", async () => {
  const measuring = new Measuring();
  const slowed = (slowdown: number) => gpu(0.7, { high: [{ slowdown }] });
  const look = (s: number, slowdown: number) => [
    ...measuring.look([claim], slowed(slowdown), setting, 1000 * s).values(),
  ];
  for (let s = 0; s < 19; s++) expect(look(s, 1.2)).toEqual([]);
  const [due] = look(19, 1.2);
  expect(due).toMatchObject({ slowdown: 2.2, pair: { retained: 0.7 } });
  if (due) await measuring.write(written, claim, due, 19_000);
  for (let s = 20; s < 619; s++) expect(look(s, 2)).toEqual([]);
  expect(look(619, 2)).toMatchObject([{ slowdown: expect.closeTo(3, 1) }]);
});

test("less harm is told of after a minute", () => {
  const measuring = new Measuring();
  expect(minutes(0.9, measuring, 0, gpu(0.7, { high: [{ slowdown: 0.9 }] }))).toEqual([]);
});

test("when a pod comes or goes, the next mean is one of a minute, and is due though it is the same", async () => {
  const measuring = new Measuring();
  const other = { ...claim, uid: "2", name: "cotenant-2", podUid: "34" };
  const elsewhere = { ...other, gpu: "GPU-2" };
  const [mean] = minutes(1, measuring, 0, gpu(0.7));
  if (mean) await measuring.write(written, claim, mean, 0);
  measuring.look([claim, elsewhere], gpu(0.7), setting, 61_000);
  expect(minutes(1, measuring, 62_000, gpu(0.7))).toEqual([]);
  measuring.look([claim, other], gpu(0.7), setting, 123_000);
  expect(minutes(1, measuring, 124_000, gpu(0.7))).toMatchObject([
    { retained: 0.7, slowdown: 1.02, pair: { others: 0 } },
  ]);
});

test("what was not written stays due", () => {
  const measuring = new Measuring();
  minutes(1, measuring, 0, gpu(0.7));
  expect(minutes(1, measuring, 61_000, gpu(0.7))).toHaveLength(1);
});

test.each<readonly [string, readonly GpuStatus[]]>([
  ["there is no window yet", gpu(undefined)],
  ["no service is there", gpu(0.7, { high: [] })],
  ["best-effort work is held", gpu(0.7, { heldBecause: "no service has the GPU" })],
  ["the pod has no process", gpu(0.7, { bestEffort: [] })],
  ["the GPU is gone", []],
])("nothing is measured while %s", (_, gpus) => {
  expect(minutes(1, new Measuring(), 0, gpus)).toEqual([]);
});

/** A status after a second in which the job submitted `perS` and the service was busy for a part `load` of it. */
class Pair {
  #seconds = 0;
  #submissions = 0;
  readonly #measuring = new Measuring();

  runs(seconds: number, perS: number, load: number, more: object = {}) {
    const due = [];
    for (let i = 0; i < seconds; i++) {
      this.#seconds++;
      this.#submissions += perS;
      const shared = { seconds: this.#seconds, submissions: this.#submissions, kernelSeconds: 0 };
      const solo = { seconds: 0, submissions: 0, kernelSeconds: 0 };
      const latencies = {
        ...{ unit: "burst", perS: 60 },
        shared: { p50Us: 1100, p99Us: 3000, samples: 500 },
        solo: { p50Us: 1000, p99Us: 2000, samples: 500 },
      };
      const gpus = [
        {
          ...{
            uuid: "GPU-1",
            name: "H200",
            high: [{ slowdown: 0.02, activeShare: load, latencies }],
          },
          bestEffort: [
            { identity: { pod: "33" }, keptShare: 0.9, pid: 7, work: { solo, shared, ...more } },
          ],
        },
      ] as unknown as readonly GpuStatus[];
      due.push(...this.#measuring.look([claim], gpus, setting, 1000 * this.#seconds).values());
    }
    return due;
  }
}

test("retained throughput is of work where the solo rate is known, and of waits before", () => {
  const pair = new Pair();
  const [first] = pair.runs(62, 250, 0.2);
  expect(first).toMatchObject({ retained: 0.9, pair: { by: "waits", perS: 250 } });
  const known = { soloPerS: 500, soloBusy: 0.8 };
  const [second] = pair.runs(62, 250, 0.2, known);
  expect(second).toMatchObject({
    retained: 0.5,
    pair: { by: "work", soloPerS: 500, soloBusy: 0.8 },
  });
});

test("a pair says its whole time, its load, how it shared, and the service's times at equal load", () => {
  const pair = new Pair();
  const [first] = [
    ...pair.runs(31, 100, 0.2, { soloPerS: 500, soloBusy: 0.8 }),
    ...pair.runs(30, 300, 0.4, { soloPerS: 500, soloBusy: 0.8 }),
  ];
  expect(first?.pair).toEqual({
    ...{ by: "work", perS: 200, soloPerS: 500, soloBusy: 0.8, retained: 0.4, seconds: 60 },
    load: expect.closeTo(0.3, 2),
    ...{ policy: "cotenant", mode: "isolated", model: "H200", others: 0 },
    service: {
      ...{ unit: "burst", perS: 60, p50Us: 1100, p99Us: 3000, soloP50Us: 1000, soloP99Us: 2000 },
    },
  });
});
