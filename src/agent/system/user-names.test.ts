import { expect, test } from "vitest";
import { UserNames, userNames } from "./user-names.ts";

/** A database whose answers come when the test says so. */
function slow() {
  const asked: number[] = [];
  const answers = new Map<number, (name: string | undefined) => void>();
  const names = new UserNames((uid) => {
    asked.push(uid);
    return new Promise((resolve) => answers.set(uid, resolve));
  });
  const answer = async (uid: number, name: string | undefined) => {
    answers.get(uid)?.(name);
    await new Promise(setImmediate);
  };
  return { names, asked, answer };
}

test("a user is asked for once, and has its name when the answer has come", async () => {
  const { names, asked, answer } = slow();
  expect([names.of(1000), names.of(1000)]).toEqual([undefined, undefined]);
  await answer(1000, "alice");
  expect([names.of(1000), names.of(1000), asked]).toEqual(["alice", "alice", [1000]]);
});

test("a user without a name stays so, and is not asked for again", async () => {
  const { names, asked, answer } = slow();
  names.of(2000);
  await answer(2000, undefined);
  expect([names.of(2000), asked]).toEqual([undefined, [2000]]);
});

test("two are asked for at a time, others wait, and not too many of them", async () => {
  const { names, asked, answer } = slow();
  for (let uid = 0; uid < 500; uid++) names.of(uid);
  expect(asked).toEqual([0, 1]);
  for (let uid = 0; asked.length > uid; uid++) await answer(uid, `user${uid}`);
  expect(asked).toEqual(Array.from({ length: 102 }, (_, uid) => uid));
  expect(names.of(101)).toBe("user101");
});

test("so many are known, and those that were found out first are forgotten", async () => {
  const { names, asked, answer } = slow();
  for (let uid = 0; uid <= 1000; uid++) {
    names.of(uid);
    await answer(uid, `user${uid}`);
  }
  expect(names.of(1000)).toBe("user1000");
  expect(names.of(0)).toBeUndefined();
  expect(asked.at(-1)).toBe(0);
});

test("after its end nobody is asked for any more", async () => {
  const { names, asked, answer } = slow();
  for (const uid of [1, 2, 3]) names.of(uid);
  names.close();
  await answer(1, "one");
  expect(asked).toEqual([1, 2]);
});

test("the machine's database knows root, and no name of a user that nobody is", async () => {
  const names = new UserNames();
  const nobody = 3_999_999_999;
  while (names.of(0) === undefined) await new Promise((resolve) => setTimeout(resolve, 10));
  expect([names.of(0), names.of(nobody)]).toEqual(["root", undefined]);
  names.close();
  const now = userNames();
  expect([now(0), now(0), now(nobody)]).toEqual(["root", "root", undefined]);
});
