import fc from "fast-check";
import { expect, test } from "vitest";
import { sharesOf } from "./shares.ts";

const spanNs = 1000;

test("held is only what waits while no burst runs", () => {
  const bestEffort = [{ finishedNs: 500, heldNs: 400 }];
  expect(sharesOf({ spanNs, activeNs: [300], bestEffort })).toEqual({
    service: 0.3,
    bestEffort: 0.5,
    held: 0.1,
    recovered: 0.5,
  });
});

test("what runs beside bursts is recovered, and counted once in the shares", () => {
  const bestEffort = [{ finishedNs: 900, heldNs: 0 }];
  const shares = sharesOf({ spanNs, activeNs: [600], bestEffort });
  expect(shares).toEqual({ service: 0.6, bestEffort: 0.4, held: 0, recovered: 0.9 });
});

test("nothing is recovered on a GPU without a high client", () => {
  const bestEffort = [{ finishedNs: 900, heldNs: 0 }];
  expect(sharesOf({ spanNs, activeNs: [], bestEffort })).toMatchObject({
    bestEffort: 0.9,
    recovered: 0,
  });
});

test("amounts of noise do not cancel each other out", () => {
  const activeNs = [Number.MAX_VALUE, Number.MAX_VALUE, Number.NEGATIVE_INFINITY];
  expect(sharesOf({ spanNs, activeNs, bestEffort: [] })).toMatchObject({ service: 1, held: 0 });
});

test("whatever is counted, each share is from 0 to 1 and all of them fit into the time", () => {
  const ns = fc.double({ noNaN: true });
  const client = fc.record({ finishedNs: ns, heldNs: ns });
  fc.assert(
    fc.property(fc.array(ns), fc.array(client), (activeNs, bestEffort) => {
      const {
        service,
        bestEffort: ran,
        held,
        recovered,
      } = sharesOf({ spanNs, activeNs, bestEffort });
      for (const share of [service, ran, held, recovered]) {
        expect(share).toBeGreaterThanOrEqual(0);
        expect(share).toBeLessThanOrEqual(1);
      }
      expect(service + ran + held).toBeLessThanOrEqual(1 + 1e-9);
    }),
  );
});
