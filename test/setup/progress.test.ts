import { expect, test } from "vitest";
import { Progress } from "../../scripts/progress.mjs";

const install = { name: "installing", seconds: 20 };
const bundle = { name: "bundling", seconds: 5 };
const build = { name: "building", seconds: 60, files: 120 };

/** The output, with a clock that only the test moves. */
function shown(isTTY: boolean, columns = 80) {
  const at = { seconds: 100 };
  const said: string[] = [];
  const out = { isTTY, columns, write: (more: string) => said.push(more) };
  const progress = new Progress([[build], [install, bundle]], out, () => at.seconds);
  const taken = () => said.splice(0).join("");
  return { at, progress, taken };
}

test("at the start it is said how long all will take, and nothing where that is short", () => {
  expect(shown(false).taken()).toBe("setup: this takes about 60 s, once.\n");
  const said: string[] = [];
  const out = { write: (text: string) => said.push(text) };
  const short = new Progress([[], [{ name: "bundling", seconds: 3 }]], out, () => 0);
  expect(said).toEqual([]);
  short.end();
  expect(said).toEqual(["setup: done in 0 s.\n"]);
});

test("without a terminal each step is one line, with the time so far and what is left", () => {
  const { at, progress, taken } = shown(false);
  taken();
  progress.begin(build);
  progress.begin(install);
  expect(taken()).toBe(
    "setup: 0 s so far, about 60 s left: building (0 of 120 files)\nsetup: 0 s so far, about 60 s left: installing\n",
  );
  at.seconds += 15;
  progress.show();
  expect(taken()).toBe("");
  progress.done(install);
  progress.begin(bundle);
  expect(taken()).toBe("setup: 15 s so far, about 45 s left: bundling\n");
  at.seconds += 50;
  progress.end();
  expect(taken()).toBe("setup: done in 65 s.\n");
});

test("what is left is that of the lane which takes longer", () => {
  const { at, progress, taken } = shown(false);
  progress.begin(build);
  at.seconds += 50;
  taken();
  progress.begin(install);
  expect(taken()).toBe("setup: 50 s so far, about 25 s left: installing\n");
});

test("on a terminal one line changes, and the pace of the files so far is that of the others", () => {
  const { at, progress, taken } = shown(true);
  progress.begin(build);
  progress.begin(install);
  taken();
  at.seconds += 40;
  progress.made(build, 30);
  progress.show();
  expect(taken()).toBe(
    "\r\x1b[Ksetup: 40 s so far, about 2 min left: building (30 of 120 files), installing",
  );
  progress.done(install);
  progress.show();
  expect(taken()).toMatch(/: building \(30 of 120 files\)$/);
  progress.made(build, 120);
  at.seconds += 10_000;
  progress.begin(bundle);
  progress.made(build, 3);
  at.seconds += 10_000;
  progress.show();
  expect(taken()).toContain("longer than expected: building");
});

test("a narrow terminal cuts the end off, not the times", () => {
  const { progress, taken } = shown(true, 40);
  taken();
  progress.begin(build);
  expect(taken()).toBe("\r\x1b[Ksetup: 0 s so far, about 60 s left: bui");
});
