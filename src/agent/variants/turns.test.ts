import { expect, test } from "vitest";
import { Turns, type Waiting } from "./turns.ts";

const request = (client: number, path = ""): Waiting => ({ client, path, settle() {} });

/** Turns with a request of each of these clients, in this order. */
function turnsOf(...clients: readonly number[]) {
  const turns = new Turns();
  const requests = clients.map((client, i) => request(client, `${i}`));
  for (const one of requests) turns.add(one);
  return { turns, requests };
}

/** The clients whose requests are taken one after the other, until none is left for those who are not busy. */
function taken(turns: Turns, busy: readonly number[] = []): readonly number[] {
  const order: number[] = [];
  for (let i = 0; i < 10; i++) {
    const next = turns.next(new Set(busy));
    if (!next) break;
    turns.take(next);
    order.push(next.client);
  }
  return order;
}

test("clients take turns, and each one's requests keep their order", () => {
  const { turns, requests } = turnsOf(1, 1, 1, 2, 2, 3);
  const first = turns.next(new Set());
  expect(first).toBe(requests[0]);
  expect(taken(turns)).toEqual([1, 2, 3, 1, 2, 1]);
  expect(turns.next(new Set())).toBeUndefined();
});

test("a client that is busy waits, and keeps nobody else waiting", () => {
  const { turns } = turnsOf(1, 2, 1);
  expect(taken(turns, [1])).toEqual([2]);
  expect(turns.next(new Set([undefined, 1]))).toBeUndefined();
  expect(taken(turns)).toEqual([1, 1]);
});

test("it is known how many requests wait, of one client and of all", () => {
  const { turns, requests } = turnsOf(1, 2, 1);
  const [first] = requests;
  if (!first) throw new Error("three requests");
  const lengths = () => [turns.length, turns.lengthOf(1), turns.lengthOf(2), turns.lengthOf(3)];
  expect(lengths()).toEqual([3, 2, 1, 0]);
  turns.take(first);
  expect(lengths()).toEqual([2, 1, 1, 0]);
});

test("a request that is removed has no turn, and the others of its client do", () => {
  const { turns, requests } = turnsOf(1, 1, 2);
  const [first, second, third] = requests;
  if (!first || !second || !third) throw new Error("three requests");
  expect(turns.remove(first)).toBe(true);
  expect(turns.next(new Set())).toBe(second);
  expect(turns.remove(third)).toBe(true);
  expect(turns.lengthOf(2)).toBe(0);
  expect(taken(turns)).toEqual([1]);
});

test("a client whose only request is removed does not keep the others from their turns", () => {
  const { turns, requests } = turnsOf(1, 2);
  const [first, second] = requests;
  if (!first || !second) throw new Error("two requests");
  turns.remove(first);
  expect(turns.next(new Set())).toBe(second);
});

test("one that does not wait any more can't be removed", () => {
  const { turns, requests } = turnsOf(1, 1);
  const [first] = requests;
  if (!first) throw new Error("two requests");
  turns.take(first);
  expect(turns.remove(first)).toBe(false);
  expect(turns.remove(request(5))).toBe(false);
  expect(turns.length).toBe(1);
});

test("all can be removed at once", () => {
  const { turns, requests } = turnsOf(1, 2, 1);
  expect(new Set(turns.removeAll())).toEqual(new Set(requests));
  expect(turns.length).toBe(0);
  expect(turns.removeAll()).toEqual([]);
});
