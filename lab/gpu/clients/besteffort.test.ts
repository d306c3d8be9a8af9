// The gated best-effort client under the strict policy, request by request.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { policyNamed } from "#policy";
import { h200, type KernelShape, plan, workload } from "../../../test/gpu/example.ts";
import { openGate } from "../gate/gate.ts";
import { planOf } from "../jobs/planning.ts";
import { Machine } from "../machine/machine.ts";
import { BestEffort } from "./besteffort.ts";
import { Board } from "./board.ts";
import { HighClient } from "./high.ts";

const HIGH = 1;
const gate = openGate();

/** A training on a GPU that serves a high client, 20 ms after the training began. */
function training(
  kernels: readonly KernelShape[],
  rules: Record<string, number> = {},
  exclusive = true,
) {
  gate.setRules({
    ...policyNamed("strict").rules({ isolated: exclusive, high: [] }),
    ...rules,
  });
  const machine = new Machine(h200(), { exclusive, seed: 1, spread: false });
  const board = new Board(gate);
  board.registered = HIGH;
  const job = plan(kernels);
  const client = new BestEffort(machine, board, machine.contexts.add(), job, {
    slot: 0,
    priority: 0,
    waits: false,
    marks: true,
  });
  client.start();
  machine.run(20e6);
  return { machine, board, client, done: () => client.stream.finished };
}

describe("under strict", () => {
  test("a request stops best-effort work within a chunk and the running kernel", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 5, max: 500 }), { minLength: 1, maxLength: 20 }),
        fc.integer({ min: 50, max: 400 }),
        fc.nat({ max: 5000 }),
        (durations, chunkUs, afterUs) => {
          const { machine, board, client } = training(
            durations.map((us) => ({ us })),
            { chunkUs },
          );
          machine.run(machine.now + afterUs * 1000);
          board.busy(HIGH, machine.now);
          const before = machine.processors.busyNs;
          machine.run(machine.now + 50e6);
          const ranUs = (machine.processors.busyNs - before) / 1000;
          // A chunk may hold more than its limit only when it is one kernel.
          expect(ranUs).toBeLessThanOrEqual(Math.max(chunkUs, ...durations) + 1);
          expect(client.mayPass()).toBe(false);
          board.idle(HIGH, machine.now);
          const finished = client.stream.finished;
          machine.run(machine.now + 20e6);
          expect(client.stream.finished).toBeGreaterThan(finished);
        },
      ),
      { numRuns: 50 },
    );
  });

  test("a young request holds nothing until its program waits for it", () => {
    const rules = { chunkUs: 100, graceUs: 1_000_000, resumeDelayUs: 0 };
    const { machine, board } = training([{ us: 40 }], rules);
    const ranUs = (us: number) => {
      const before = machine.processors.busyNs;
      machine.run(machine.now + us * 1000);
      return (machine.processors.busyNs - before) / 1000;
    };
    board.busy(HIGH, machine.now);
    expect(ranUs(10_000)).toBeGreaterThan(5_000);
    board.growOld(HIGH, machine.now);
    expect(ranUs(10_000)).toBeLessThanOrEqual(140);
    board.idle(HIGH, machine.now);
    board.busy(HIGH, machine.now);
    expect(ranUs(10_000)).toBeGreaterThan(5_000);
  });

  test.each([
    // A chunk, a kernel, a switch of contexts, and what is left of its own work.
    { what: "its last launch", graceLaunches: 0, waitsUs: 1000 },
    { what: "shortly before, by its launches,", graceLaunches: 90, waitsUs: 20 },
  ])(
    "a program that launches for long leaves the GPU to others until $what",
    ({ graceLaunches, waitsUs }) => {
      const rules = {
        ...{ chunkUs: 100, graceUs: 1_000_000, resumeDelayUs: 0 },
        graceLaunches,
      };
      const { machine, board, client } = training([{ us: 40 }], rules);
      const launching = plan(Array.from({ length: 100 }, () => ({ us: 5, gapUs: 100 })));
      const high = new HighClient(machine, board, machine.contexts.add(), launching, {
        bit: HIGH,
        priority: 0,
        arrivalsNs: Array.from({ length: 20 }, (_, i) => 30e6 + i * 20e6),
        announceNs: 0,
      });
      high.start();
      const before = client.stream.finished;
      machine.run(430e6);
      expect(high.bursts).toHaveLength(20);
      const waitedUs = high.bursts.map(({ waitedNs }) => waitedNs / 1000).toSorted((a, b) => a - b);
      expect(waitedUs[10]).toBeLessThan(waitsUs);
      expect((client.stream.finished - before) * 40).toBeGreaterThan(0.8 * 410e3);
    },
  );

  test("a share ends when a request has launched as much as the rules name", () => {
    const share = { chunkUs: 100, coRunSliceUs: 400, coRunEveryUs: 2000, coRunUntilUs: 50_000 };
    const shared = (coRunUntilLaunches: number) => {
      const { machine, board } = training([{ us: 40 }], { ...share, coRunUntilLaunches });
      const request = plan(Array.from({ length: 400 }, () => ({ us: 5, gapUs: 95 })));
      const high = new HighClient(machine, board, machine.contexts.add(), request, {
        ...{ bit: HIGH, priority: 0, arrivalsNs: [machine.now + 1e6], announceNs: 0 },
      });
      high.start();
      machine.run(machine.now + 1e6);
      const before = machine.processors.busyNs;
      machine.run(machine.now + 38e6);
      return (machine.processors.busyNs - before) / 1e6;
    };
    const [always, until] = [shared(0), shared(100)];
    expect(until).toBeLessThan(0.6 * always);
    expect(until).toBeGreaterThan(shared(1));
  });

  test("best-effort work continues after the resume delay, and not before", () => {
    const { machine, board, done } = training([{ us: 20 }]);
    board.busy(HIGH, machine.now);
    machine.run(machine.now + 5e6);
    const stopped = done();
    board.idle(HIGH, machine.now);
    machine.run(machine.now + 140e3);
    expect(done()).toBe(stopped);
    machine.run(machine.now + 200e3);
    expect(done()).toBeGreaterThan(stopped);
  });

  test("without a resume delay best-effort work continues when the request ends", () => {
    const { machine, board, done } = training([{ us: 20 }], { resumeDelayUs: 0 });
    board.busy(HIGH, machine.now);
    machine.run(machine.now + 5e6);
    const stopped = done();
    board.idle(HIGH, machine.now);
    machine.run(machine.now + 40e3);
    expect(done()).toBe(stopped + 1);
  });

  test("a pause of more than 250 ms becomes minimum progress: a chunk every 10 ms", () => {
    const { machine, board, client, done } = training([{ us: 20 }]);
    board.busy(HIGH, machine.now);
    machine.run(machine.now + 240e6);
    const held = done();
    machine.run(machine.now + 500e6);
    expect(client.minProgress).toBeGreaterThan(40);
    expect(client.minProgress).toBeLessThan(52);
    // Minimum progress ends within 100 us after the first preemption point is passed. A second chunk of 10 kernels may slip through.
    expect(done() - held).toBeLessThanOrEqual(20 * client.minProgress);
    expect(done() - held).toBeGreaterThanOrEqual(10 * client.minProgress);
  });

  test("bursts that follow each other within the resume delay are one pause: minimum progress comes", () => {
    const { machine, board, client } = training([{ us: 20 }]);
    for (let burst = 0; burst < 100; burst++) {
      board.busy(HIGH, machine.now);
      machine.run(machine.now + 10e6);
      board.idle(HIGH, machine.now);
      machine.run(machine.now + 50e3);
    }
    expect(client.minProgress).toBeGreaterThan(60);
    expect(client.minProgress).toBeLessThan(80);
  });

  test("borders cost 1.5 % at 200 us", () => {
    const { machine, done } = training([{ us: 20 }], { chunkLaunches: 128 });
    const before = done();
    machine.run(machine.now + 200e6);
    expect((done() - before) / 10_000).toBeCloseTo(1 - 3 / 203, 2);
  });

  test("launch by launch, the outstanding work never exceeds the limit", () => {
    const { machine, client } = training([{ us: 7 }, { us: 20 }], { submission: 1, chunkUs: 50 });
    for (let i = 0; i < 500; i++) {
      machine.run(machine.now + 3e3);
      expect(client.outstanding.us).toBeLessThanOrEqual(50);
    }
    expect(client.stream.finished).toBeGreaterThan(100);
  });

  test("beside a request only kernels of the other class that need few enough SMs may run", () => {
    const rules = {
      submission: 1,
      whenActive: 1,
      smLimit: 32,
      maxKernelUs: 100,
      activeAheadUs: 100,
    };
    const runs = (kernel: KernelShape) => {
      const { machine, board, done } = training([kernel], rules, false);
      board.highKernel(1, 0, machine.now);
      board.busy(HIGH, machine.now);
      machine.run(machine.now + 1e6);
      const before = done();
      machine.run(machine.now + 10e6);
      return done() > before;
    };
    expect(runs({ us: 20, sms: 16, class: "memory" })).toBe(true);
    expect(runs({ us: 20, sms: 16, class: "unknown" })).toBe(true);
    expect(runs({ us: 20, sms: 16, class: "compute" })).toBe(false);
    expect(runs({ us: 20, sms: 32, class: "memory" })).toBe(false);
    expect(runs({ us: 101, sms: 16, class: "memory" })).toBe(false);
  });
});

describe("copies", () => {
  /** A client that copies 20 MiB in each iteration, 20 ms after it began. A MiB takes about 20 us. */
  function startCopies(rules: Record<string, number>) {
    const exclusive = rules.isolated !== 0;
    gate.setRules({
      ...policyNamed("strict").rules({ isolated: exclusive, high: [] }),
      ...rules,
    });
    const machine = new Machine(h200(), { exclusive, seed: 1, spread: false });
    const board = new Board(gate);
    board.registered = HIGH;
    const sequence = [{ copy: "in", bytes: 20 * 2 ** 20 }, { kernel: 0 }] as const;
    const job = planOf(workload("copies", [{ us: 20 }], { sequence }), h200(), "kernels");
    const client = new BestEffort(machine, board, machine.contexts.add(), job, {
      slot: 0,
      priority: 0,
      waits: false,
      marks: true,
    });
    client.start();
    machine.run(20e6);
    const copiedUs = (ns: number) => {
      const before = machine.link.busyNs(0);
      machine.run(machine.now + ns);
      return (machine.link.busyNs(0) - before) / 1000;
    };
    return { machine, board, copiedUs };
  }

  test("a request stops a long copy within a chunk", () => {
    const { machine, board, copiedUs } = startCopies({ chunkUs: 200 });
    expect(copiedUs(5e6)).toBeGreaterThan(2000);
    board.busy(HIGH, machine.now);
    expect(copiedUs(5e6)).toBeLessThan(200);
  });

  test.each([
    { how: "deep", submission: 0 },
    { how: "launch by launch", submission: 1 },
  ])("beside a request ($how) one waits for a high copy, and for nothing else", (given) => {
    const allow = { whenActive: 2, isolated: 0, activeAheadUs: 400, chunkUs: 400 };
    const { machine, board, copiedUs } = startCopies({ ...allow, submission: given.submission });
    board.busy(HIGH, machine.now);
    expect(copiedUs(5e6)).toBeGreaterThan(1000);
    board.copies(HIGH, [{ fromNs: machine.now, untilNs: machine.now + 5e6 }]);
    expect(copiedUs(5e6)).toBeLessThan(400);
    expect(copiedUs(5e6)).toBeGreaterThan(1000);
  });
});

test("several best-effort clients take turns of 5 ms", () => {
  gate.setRules(policyNamed("strict").rules({ isolated: true, high: [] }));
  const machine = new Machine(h200(), { exclusive: true, seed: 1, spread: false });
  const board = new Board(gate);
  board.registered = HIGH;
  const clients = [0, 1, 2].map(
    (slot) =>
      new BestEffort(machine, board, machine.contexts.add(), plan([{ us: 50 }]), {
        slot,
        priority: 0,
        waits: false,
        marks: true,
      }),
  );
  for (const client of clients) client.start();
  machine.run(1e9);
  const parts = clients.map(({ stream }) => (stream.finished * 50e3) / 1e9);
  for (const part of parts) expect(part).toBeGreaterThan(0.27);
  expect(parts.reduce((sum, part) => sum + part, 0)).toBeGreaterThan(0.92);
  expect(machine.contexts.switches).toBeLessThan(210);
});
