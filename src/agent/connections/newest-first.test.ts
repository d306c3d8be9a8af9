import { expect, test } from "vitest";
import { newestFirst } from "./newest-first.ts";

interface Connection {
  readonly name: string;
  destroyed: boolean;
}

/** An event loop that is turned by hand. */
function loop() {
  const due: (() => void)[] = [];
  const served: string[] = [];
  const take = newestFirst<Connection>(
    ({ name }) => served.push(name),
    (run) => void due.push(run),
  );
  const come = (name: string) => {
    const connection = { name, destroyed: false };
    take(connection);
    return connection;
  };
  const turn = () => {
    for (const run of due.splice(0)) run();
  };
  const finish = () => {
    while (due.length > 0) turn();
  };
  return { come, turn, finish, served };
}

test("a connection that comes alone is served in the next turn", () => {
  const { come, turn, served } = loop();
  come("one");
  turn();
  expect(served).toEqual(["one"]);
});

test("a queue is accepted whole, then served from its newest to its oldest", () => {
  const { come, turn, finish, served } = loop();
  for (const name of ["one", "two", "three"]) {
    come(name);
    turn();
  }
  // The first was alone in its turn.
  come("four");
  come("five");
  finish();
  expect(served).toEqual(["one", "two", "three", "five", "four"]);
});

test("connections that come in turn after turn wait for the end of the queue", () => {
  const { come, turn, finish, served } = loop();
  come("one");
  come("two");
  turn();
  come("three");
  turn();
  expect(served).toEqual([]);
  finish();
  expect(served).toEqual(["three", "two", "one"]);
});

test("a flood that never ends keeps nobody from being served for ever", () => {
  const { come, turn, served } = loop();
  come("first");
  for (let i = 0; i < 2000; i++) {
    come(`${i}`);
    turn();
  }
  expect(served.length).toBeGreaterThan(1000);
});

test("a connection that has closed is not served", () => {
  const { come, finish, served } = loop();
  const one = come("one");
  come("two");
  one.destroyed = true;
  finish();
  expect(served).toEqual(["two"]);
});
