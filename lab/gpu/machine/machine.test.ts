import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { h200, type KernelShape, plan, quiet, submit } from "../../../test/gpu/example.ts";
import { Machine } from "./machine.ts";
import type { Stream } from "./stream.ts";

const SMS = 132;
const options = { exclusive: false, seed: 1, spread: false };

/** When each stream was empty again, in us. */
function finishTimes(machine: Machine, streams: readonly Stream[]): number[] {
  const at = streams.map(() => Number.NaN);
  while (at.some(Number.isNaN)) {
    machine.run(machine.now + 100);
    streams.forEach(({ length }, i) => {
      if (length === 0 && Number.isNaN(at[i])) at[i] = Math.round(machine.now / 1000);
    });
  }
  return at;
}

function together(
  ...jobs: { kernels: KernelShape[]; priority?: number; smLimit?: number }[]
): number[] {
  const machine = new Machine(h200(), options);
  const context = machine.contexts.add();
  const streams = jobs.map(({ kernels, priority = 0, smLimit = SMS }) =>
    machine.addStream(context, plan(kernels), quiet, { priority, smLimit }),
  );
  for (const stream of streams) submit(stream, machine);
  return finishTimes(machine, streams);
}

describe("SMs", () => {
  test("two kernels that fit run at the same time", () => {
    const half = { us: 100, sms: 66 };
    expect(together({ kernels: [half] }, { kernels: [half] })).toEqual([100, 100]);
  });

  test("other kernels wait for a kernel that fills the GPU", () => {
    const whole = { us: 100 };
    expect(together({ kernels: [whole] }, { kernels: [whole] })).toEqual([100, 200]);
  });

  test("a kernel begins on the SMs that are free, and gets others as they become free", () => {
    const [first = 0, second = 0] = together(
      { kernels: [{ us: 100, sms: 100 }] },
      { kernels: [{ us: 100, sms: 132 }] },
    );
    expect(first).toBe(100);
    expect(second).toBeGreaterThan(150);
    expect(second).toBeLessThanOrEqual(200);
  });

  test("blocks that share an SM are on all SMs, so a kernel that needs whole ones waits for their end", () => {
    // It has 192 blocks, of which four fit on an SM. They would fit on 48 SMs, but every SM has one or two.
    const spread = { us: 100, sms: 48, perSm: 4 };
    expect(together({ kernels: [spread] }, { kernels: [{ us: 10, sms: 84 }] })).toEqual([100, 110]);
    const [, beside = 0] = together(
      { kernels: [spread] },
      { kernels: [{ us: 10, sms: 84, perSm: 4 }] },
    );
    expect(beside).toBeLessThan(20);
  });

  test("one wave on fewer SMs becomes two", () => {
    expect(together({ kernels: [{ us: 100, sms: 128 }], smLimit: 100 })).toEqual([200]);
    expect(together({ kernels: [{ us: 100, sms: 128 }], smLimit: 128 })).toEqual([100]);
  });

  test("half of the SMs double the time of a kernel of many waves", () => {
    expect(together({ kernels: [{ us: 1000, sms: 50 * SMS }], smLimit: 66 })).toEqual([2000]);
  });

  test("a higher priority gets freed SMs first, and does not interrupt a running block", () => {
    const machine = new Machine(h200(), options);
    const context = machine.contexts.add();
    const low = machine.addStream(context, plan([{ us: 100 }]), quiet, { priority: 0 });
    const other = machine.addStream(context, plan([{ us: 100 }]), quiet, { priority: 0 });
    const high = machine.addStream(context, plan([{ us: 10 }]), quiet, { priority: 1 });
    submit(low, machine, 3);
    submit(other, machine, 3);
    machine.run(50e3);
    submit(high, machine);
    const [, , done] = finishTimes(machine, [low, other, high]);
    expect(done).toBe(110);
  });

  test("a disturbed kernel does not pack better than alone: its second wave takes its full time", () => {
    const machine = new Machine(h200(), options);
    const context = machine.contexts.add();
    const of = { us: 100, sms: SMS + 8 };
    const low = machine.addStream(context, plan([of]), quiet, { priority: 0 });
    const high = machine.addStream(context, plan([{ us: 5, sms: 10 }]), quiet, { priority: 1 });
    submit(low, machine);
    machine.run(10e3);
    submit(high, machine);
    const [lowDone = 0, highDone = 0] = finishTimes(machine, [low, high]);
    expect(highDone).toBeLessThan(60);
    expect(lowDone).toBeGreaterThanOrEqual(100);
    expect(lowDone).toBeLessThan(115);
  });

  test("a kernel of many waves makes room within the time of one block", () => {
    const machine = new Machine(h200(), options);
    const context = machine.contexts.add();
    const low = machine.addStream(context, plan([{ us: 10_000, sms: 100 * SMS }]), quiet, {
      priority: 0,
    });
    const high = machine.addStream(context, plan([{ us: 10 }]), quiet, { priority: 1 });
    submit(low, machine);
    machine.run(5e6);
    submit(high, machine);
    const [lowDone = 0, highDone = 0] = finishTimes(machine, [low, high]);
    expect(highDone - 5000).toBeGreaterThan(10);
    expect(highDone - 5000).toBeLessThanOrEqual(111);
    expect(lowDone).toBeGreaterThan(10_000);
    expect(lowDone).toBeLessThanOrEqual(10_120);
  });
});

test.each([
  { us: 6, sms: 313, memory: 1, smLimit: SMS },
  { us: 60, sms: 133, memory: 0.9, smLimit: 45 },
])(
  "alone on $smLimit SMs, a kernel whose last wave is not full draws from DRAM what it did when it was measured",
  (kernel) => {
    const machine = new Machine({ ...h200(), handoverNs: 0 }, options);
    const { smLimit, memory, us } = kernel;
    const stream = machine.addStream(machine.contexts.add(), plan([kernel]), quiet, {
      priority: 0,
      smLimit,
    });
    submit(stream, machine);
    finishTimes(machine, [stream]);
    const { dramNs, busyNs } = machine.processors;
    expect(dramNs).toBeCloseTo(us * 1000 * memory, 6);
    expect(dramNs).toBeLessThanOrEqual(busyNs * memory * (1 + 1e-9));
  },
);

describe("contexts that take turns", () => {
  const alternate = (kernels: KernelShape[]) => {
    const machine = new Machine(h200(), { ...options, exclusive: true });
    const streams = [0, 1].map(() =>
      machine.addStream(machine.contexts.add(), plan(kernels), quiet, { priority: 0 }),
    );
    for (const stream of streams) submit(stream, machine, 4000);
    machine.run(400e6);
    return streams.map(({ finished }) => (finished * (kernels[0]?.us ?? 0)) / 400e3);
  };

  test("get equal parts, less a tenth for switching", () => {
    const [first = 0, second = 0] = alternate([{ us: 200 }]);
    expect(Math.abs(first - second)).toBeLessThan(0.02);
    expect(first + second).toBeGreaterThan(0.88);
    expect(first + second).toBeLessThan(0.93);
  });

  test("an idle one costs nothing", () => {
    const machine = new Machine(h200(), { ...options, exclusive: true });
    machine.addStream(machine.contexts.add(), plan([{ us: 5 }]), quiet, { priority: 0 });
    const busy = machine.addStream(machine.contexts.add(), plan([{ us: 100 }]), quiet, {
      priority: 0,
    });
    submit(busy, machine, 100);
    expect(finishTimes(machine, [busy])).toEqual([10_000]);
    expect(machine.contexts.switches).toBe(0);
  });
});

const anyKernel: fc.Arbitrary<KernelShape> = fc.record({
  us: fc.integer({ min: 1, max: 400 }),
  sms: fc.integer({ min: 1, max: 1000 }),
  sm: fc.double({ min: 0, max: 1, noNaN: true }),
  memory: fc.double({ min: 0, max: 1, noNaN: true }),
});
const anyStream = fc.record({
  kernels: fc.array(anyKernel, { minLength: 1, maxLength: 12 }),
  priority: fc.nat({ max: 2 }),
  smLimit: fc.integer({ min: 1, max: SMS }),
  context: fc.nat({ max: 2 }),
  atUs: fc.nat({ max: 2000 }),
});

describe("whatever is submitted", () => {
  test("every kernel finishes exactly once, and no more is done than the GPU can", () => {
    fc.assert(
      fc.property(
        fc.array(anyStream, { minLength: 1, maxLength: 5 }),
        fc.boolean(),
        (jobs, exclusive) => {
          const machine = new Machine({ ...h200(), handoverNs: 0 }, { ...options, exclusive });
          const contexts = [0, 1, 2].map(() => machine.contexts.add());
          const streams = jobs.map(({ kernels, priority, smLimit, context }) =>
            machine.addStream(contexts[context] ?? machine.contexts.add(), plan(kernels), quiet, {
              priority,
              smLimit,
            }),
          );
          const order = jobs
            .map((_, i) => i)
            .sort((a, b) => (jobs[a]?.atUs ?? 0) - (jobs[b]?.atUs ?? 0));
          for (const i of order) {
            machine.run((jobs[i]?.atUs ?? 0) * 1000);
            const stream = streams[i];
            if (stream) submit(stream, machine);
          }
          const total = jobs.reduce((sum, { kernels }) => sum + kernels.length, 0);
          machine.run(60e9);
          expect(streams.map(({ finished }) => finished)).toEqual(
            jobs.map(({ kernels }) => kernels.length),
          );
          expect(streams.map(({ launched }) => launched)).toEqual(
            jobs.map(({ kernels }) => kernels.length),
          );
          expect(streams.every(({ length }) => length === 0)).toBe(true);
          const work = jobs
            .flatMap(({ kernels }) => kernels)
            .reduce((sum, { us, sms = 0 }) => sum + (us * 1000 * sms) / Math.ceil(sms / SMS), 0);
          const { processors } = machine;
          // No SM is given away twice. A block runs no faster than alone, except that it may draw more from DRAM.
          const faster = machine.gpu.smOversupply * (1 + 1e-6);
          expect(work).toBeLessThanOrEqual(processors.heldNs * SMS * faster + total);
          expect(processors.heldNs).toBeLessThanOrEqual(processors.busyNs * (1 + 1e-9));
          const most = Math.max(
            machine.gpu.dramReachable,
            ...jobs.flatMap(({ kernels }) => kernels.map(({ memory = 0 }) => memory)),
          );
          // The machine ignores a millionth of an SM.
          expect(processors.dramNs).toBeLessThanOrEqual(processors.busyNs * most * (1 + 1e-5));
        },
      ),
      {
        numRuns: 200,
        // Two unequal waves on half of the SMs.
        examples: [
          [
            [
              {
                kernels: [{ us: 1, sms: 133, sm: 0, memory: 0.8 }],
                priority: 0,
                smLimit: 67,
                context: 0,
                atUs: 0,
              },
            ],
            false,
          ],
        ],
      },
    );
  });
});
