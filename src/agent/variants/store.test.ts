import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { noVariantStore, openVariantStore, type Variants } from "./store.ts";

const root = mkdtempSync(join(tmpdir(), "cotenant-variants-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const image = (text: string) => new TextEncoder().encode(text);
const variant = (ptx: string): Variants => ({ ptx, wholeWarps: true });

/** A store in a directory of its own, and how often variants had to be made. */
function store(name: string, mostBytes?: number) {
  const directory = join(root, name);
  let made = 0;
  const ask = (kernel: string, text: string, what = variant(text)) =>
    openVariantStore(directory, mostBytes).of(kernel, image(text), () => {
      made += 1;
      return what;
    });
  return { directory, ask, made: () => made };
}

test("a variant is made once, whoever asks later", () => {
  const { ask, made } = store("once");
  expect(ask("k", "a")).toEqual(variant("a"));
  expect(ask("k", "a", variant("other"))).toEqual(variant("a"));
  expect(made()).toBe(1);
  ask("other kernel", "a");
  ask("k", "other image");
  expect(made()).toBe(3);
});

test("so is a refusal", () => {
  const { ask, made } = store("refusal");
  for (let i = 0; i < 2; i++)
    expect(ask("k", "a", { reason: "Line 1: a clock" })).toEqual({ reason: "Line 1: a clock" });
  expect(made()).toBe(1);
});

test("only the owner can read what is kept", () => {
  const { ask, directory } = store("modes");
  ask("k", "a");
  expect(statSync(directory).mode & 0o777).toBe(0o700);
  for (const name of readdirSync(directory))
    expect(statSync(join(directory, name)).mode & 0o777).toBe(0o600);
});

test("what is damaged is made anew", () => {
  const { ask, directory, made } = store("damaged");
  ask("k", "some text");
  for (const bytes of [20, 3, 0]) {
    for (const name of readdirSync(directory)) truncateSync(join(directory, name), bytes);
    expect(ask("k", "some text")).toEqual(variant("some text"));
  }
  expect(made()).toBe(4);
});

test.each([
  { what: "a letter of the PTX", from: "some text", to: "some next" },
  { what: "a flag", from: '"wholeWarps":true', to: '"wholeWarps":null' },
  { what: "a refusal", from: "a reason", to: "a season" },
])("$what that changed on the disk is noticed, and the variant is made anew", ({ from, to }) => {
  const { ask, directory, made } = store(`changed ${from}`);
  ask("k", "some text");
  ask("refused", "some text", { reason: "a reason" });
  for (const name of readdirSync(directory)) {
    const path = join(directory, name);
    writeFileSync(path, readFileSync(path, "utf8").replace(from, to));
  }
  expect(ask("k", "some text")).toEqual(variant("some text"));
  expect(ask("refused", "some text", { reason: "a reason" })).toEqual({ reason: "a reason" });
  expect(made()).toBe(3);
});

test("there are never more bytes than allowed", () => {
  const { ask, directory } = store("bounded", 1000);
  for (let i = 0; i < 20; i++) ask(`k${i}`, "x".repeat(100));
  const sizes = readdirSync(directory).map((name) => statSync(join(directory, name)).size);
  expect(sizes.length).toBeGreaterThan(2);
  expect(sizes.reduce((sum, one) => sum + one)).toBeLessThanOrEqual(1000);
});

test("of too many the least recently used goes, and what fits exactly stays", () => {
  const size = (() => {
    const { ask, directory } = store("one");
    ask("k", "a");
    return statSync(join(directory, readdirSync(directory)[0] ?? "")).size;
  })();
  const { ask, directory, made } = store("least recently used", 3 * size);
  const names = new Map<string, string>();
  for (const [i, text] of ["a", "b", "c"].entries()) {
    ask("k", text);
    const name = readdirSync(directory).find((one) => ![...names.values()].includes(one)) ?? "";
    names.set(text, name);
    utimesSync(join(directory, name), 1000 + i, 1000 + i);
  }
  expect(readdirSync(directory)).toHaveLength(3);
  ask("k", "a");
  expect(made()).toBe(3);
  ask("k", "d");
  const left = readdirSync(directory);
  expect(["a", "b", "c"].map((text) => left.includes(names.get(text) ?? ""))).toEqual([
    true,
    false,
    true,
  ]);
  expect(left).toHaveLength(3);
});

test("a directory that can't be made costs no variant", () => {
  writeFileSync(join(root, "file"), "");
  const store = openVariantStore(join(root, "file", "variants"));
  expect(store.of("k", image("a"), () => variant("a"))).toEqual(variant("a"));
  expect(noVariantStore.of("k", image("a"), () => variant("b"))).toEqual(variant("b"));
});
