import { describe, expect, test } from "vitest";
import type { Frame } from "./frame.ts";
import { firstView, type View } from "./model.ts";
import { type Key, press } from "./press.ts";

const shown: Frame = {
  lines: [],
  clients: ["a", "b", "c"],
  titles: ["name", "pid"],
  mostScroll: 3,
};
const typed = (text: string): Key => ({
  name: /[a-z]/.test(text) ? text : undefined,
  text,
  ctrl: false,
});
const named = (name: string, ctrl = false): Key => ({ name, text: "", ctrl });

const typing = (keys: readonly Key[], from: Partial<View> = {}, frame = shown): View | undefined =>
  keys.reduce<View | undefined>((view, key) => view && press(view, key, frame), {
    ...firstView,
    ...from,
  });

test.each([typed("q"), named("c", true), named("d", true), named("escape")])("%j quits", (key) => {
  expect(typing([key])).toBeUndefined();
});

test("Esc leaves a page first", () => {
  expect(typing([typed("?"), named("escape")])).toEqual(firstView);
  expect(typing([typed("h"), typed("h")])).toEqual(firstView);
  expect(typing([typed("h"), named("escape"), named("escape")])).toBeUndefined();
});

describe("an order", () => {
  const asked = { letter: "E", key: "b" } as const;

  test("is given by the same letter twice, and forgotten by any other key", () => {
    const once = typing([typed("E")], { selected: "b" });
    expect(once).toEqual({ ...firstView, selected: "b", asked });
    expect(typing([typed("E")], once)).toEqual({ ...firstView, selected: "b", confirmed: asked });
    expect(typing([typed("s"), typed("E")], once)?.confirmed).toBeUndefined();
    expect(typing([typed("P")], once)).toMatchObject({ asked: { letter: "P", key: "b" } });
    expect(typing([named("down"), typed("E")], once)?.confirmed).toBeUndefined();
  });

  test("needs a client", () => {
    const { asked: none, notice } = typing([typed("P")]) ?? {};
    expect([none, notice]).toEqual([undefined, "Select a client first, by ↑ ↓."]);
  });
});

describe("the selection", () => {
  test("moves by arrows and by letters, and stays on the list", () => {
    expect(typing([named("down")])?.selected).toBe("a");
    expect(typing([typed("j"), typed("j"), typed("j"), typed("j"), typed("j")])?.selected).toBe(
      "c",
    );
    expect(typing([named("up"), named("up")], { selected: "b" })?.selected).toBe("a");
  });

  test("begins anew where its client has gone", () => {
    expect(typing([named("down")], { selected: "gone" })?.selected).toBe("a");
  });

  test("opens details, of the first client where none is selected, and comes back", () => {
    const details = typing([named("return")]);
    expect([details?.page, details?.selected]).toEqual(["details", "a"]);
    expect(typing([named("return"), named("return")])?.page).toBe("clients");
    expect(typing([named("return")], {}, { ...shown, clients: [] })).toEqual(firstView);
  });

  test("scrolls a page as far as it goes", () => {
    expect(typing(Array(9).fill(named("down")), { page: "details" })?.scroll).toBe(3);
    expect(typing(Array(9).fill(named("up")), { page: "help", scroll: 2 })?.scroll).toBe(0);
  });
});

test("sorting goes through the columns that are shown, both ways, and through the agent's own order", () => {
  expect(typing([typed("s")])?.sort).toBe("name");
  expect(typing([typed(">"), typed(">")])?.sort).toBe("pid");
  expect(typing([typed("s"), typed("s"), typed("s")])?.sort).toBeUndefined();
  expect(typing([typed("<")])?.sort).toBe("pid");
  expect(typing([typed("r")])?.reverse).toBe(true);
});

test("the timeline goes through its stretches, pausing goes on, other keys do nothing", () => {
  expect([1, 2, 3].map((count) => typing(Array(count).fill(typed("t")))?.stretch)).toEqual([
    1, 2, 0,
  ]);
  expect(typing([typed("p")])?.paused).toBe(true);
  expect(typing([typed("p"), typed("p")])).toEqual(firstView);
  expect(typing([typed("x"), typed("constructor"), named("f5"), named("x", true)])).toEqual(
    firstView,
  );
});
