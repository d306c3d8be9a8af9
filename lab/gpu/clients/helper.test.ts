// Renewed time slices (docs/design/decisions/0007): how the GPU treats work that stands still, and what requests gain.

import { expect, test } from "vitest";
import { us } from "#core";
import { policyNamed } from "#policy";
import { h200, plan, quiet, submit } from "../../../test/gpu/example.ts";
import { openGate } from "../gate/gate.ts";
import { Machine } from "../machine/machine.ts";
import { BestEffort } from "./besteffort.ts";
import { Board } from "./board.ts";
import { HighClient } from "./high.ts";

const options = { exclusive: true, seed: 1, spread: false };
const { sliceNs, preemptNs } = h200().slices;

test.each([
  { idleUs: 10, what: "begins a slice", fromUs: 1010 },
  { idleUs: 5, what: "goes on in the one that runs", fromUs: 0 },
])("work that comes after $idleUs us without any $what", ({ idleUs, fromUs }) => {
  const machine = new Machine(h200(), options);
  const long = plan([{ us: 1000 }, { us: 5000 }, { us: 1 }, { us: 1 }]);
  const [first, second] = [long, plan([{ us: 10 }])].map((of) =>
    machine.addStream(machine.contexts.add(), of, quiet, { priority: 0 }),
  );
  if (!first || !second) throw new Error("no streams");
  first.push(0, 0);
  for (const step of [1, 2, 3]) first.push(step, (1000 + idleUs) * 1000);
  machine.kick(first);
  machine.run(1500e3);
  submit(second, machine);
  const letInUs = fromUs + (sliceNs + preemptNs) / 1000;
  machine.run((letInUs + 9) * 1000);
  expect(second.length).toBe(1);
  machine.run((letInUs + 11) * 1000);
  expect(second.length).toBe(0);
});

const of = (count: number, us: number) => Array.from({ length: count }, () => ({ us }));
const gate = openGate();
const EVERY_NS = 9.37e6;
const REQUESTS = 300;

/** The longest burst in us. Requests of 4 ms arrive at all moments of a slice, beside kernels of 600 us. */
function longest(rules: Record<string, number>): number {
  const strict = policyNamed("strict").rules({ isolated: true, high: [] });
  gate.setRules({ ...strict, chunkUs: us(50), ...rules });
  const machine = new Machine(h200(), options);
  const board = new Board(gate);
  const high = new HighClient(machine, board, machine.contexts.add(), plan(of(100, 40)), {
    bit: 1,
    priority: 0,
    arrivalsNs: Array.from(
      { length: REQUESTS },
      (_, i) => 20e6 + i * EVERY_NS + ((i * 1.618e6) % 5e6),
    ),
    announceNs: 0,
  });
  const job = { slot: 0, priority: 0, waits: false, marks: true };
  new BestEffort(machine, board, machine.contexts.add(), plan(of(7, 600)), job).start();
  high.start();
  machine.run(30e6 + REQUESTS * EVERY_NS);
  expect(high.requests).toHaveLength(REQUESTS);
  return Math.max(...high.requests.map(({ serviceNs }) => serviceNs / 1000));
}

test("a slice is renewed, so that none ends within a kernel that a long request would meet again", () => {
  const without = longest({});
  const renewed = longest({ renewUs: 1200 });
  // Without renewal the kernel is interrupted and met again: two more context switches within kernels.
  expect(without - renewed).toBeGreaterThan((1.5 * preemptNs) / 1000);
  expect(renewed).toBeLessThan(4000 + 600 + 300);
});
