import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { expect, test } from "vitest";
import { WaitingRoom } from "./waiting-room.ts";

class Connection extends EventEmitter {
  closed = false;
  destroy() {
    this.closed = true;
    this.emit("close");
  }
}

function roomFor(most: number) {
  const room = new WaitingRoom(most);
  return (uid?: number) => {
    const connection = new Connection();
    room.enter(connection as unknown as Socket, uid);
    return connection;
  };
}

test("of one user's connections the oldest is closed when one more comes", () => {
  const enter = roomFor(2);
  const [first, second, third] = [enter(), enter(), enter()];
  expect([first.closed, second.closed, third.closed]).toEqual([true, false, false]);
});

test("a user who connects again and again loses their own connections, not others'", () => {
  const enter = roomFor(4);
  const other = enter(1);
  const flood = Array.from({ length: 100 }, () => enter(2));
  expect(other.closed).toBe(false);
  expect(flood.filter(({ closed }) => !closed)).toEqual(flood.slice(-3));
});

test("a connection that has ended leaves its place to the next", () => {
  const enter = roomFor(2);
  const [first, second] = [enter(1), enter(1)];
  first.destroy();
  const third = enter(1);
  expect([second.closed, third.closed]).toEqual([false, false]);
});
