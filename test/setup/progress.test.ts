import { expect, test } from "vitest";
import { Progress } from "../../scripts/progress.mjs";

const install = { name: "installing", seconds: 20 };
const build = { name: "building", seconds: 60, files: 120 };

/** What is written, with a clock that only the test moves. */
function shown(isTTY: boolean) {
  const at = { seconds: 100 };
  const said: string[] = [];
  const out = { isTTY, columns: 80, write: (more: string) => said.push(more) };
  const progress = new Progress([install, build], out, () => at.seconds);
  const taken = () => said.splice(0).join("");
  return { at, progress, taken };
}

test("at the start it is said how long all will take, and nothing where that is short", () => {
  expect(shown(false).taken()).toBe("setup: this takes about 80 s, once.\n");
  const said: string[] = [];
  const out = { write: (text: string) => said.push(text) };
  const short = new Progress([{ name: "bundling", seconds: 3 }], out, () => 0);
  expect(said).toEqual([]);
  short.end();
  expect(said).toEqual(["setup: done in 0 s.\n"]);
});

test("without a terminal each step is one line, with the time so far and what is left", () => {
  const { at, progress, taken } = shown(false);
  taken();
  progress.begin(install);
  expect(taken()).toBe("setup: 1 of 2, installing, 0 s so far, about 80 s left\n");
  at.seconds += 15;
  progress.show();
  expect(taken()).toBe("");
  progress.begin(build);
  expect(taken()).toBe("setup: 2 of 2, building (0 of 120 files), 15 s so far, about 60 s left\n");
  at.seconds += 50;
  progress.end();
  expect(taken()).toBe("setup: done in 65 s.\n");
});

test("on a terminal one line changes, and the pace of the files so far is that of the others", () => {
  const { at, progress, taken } = shown(true);
  progress.begin(build);
  taken();
  at.seconds += 40;
  progress.made(30);
  progress.show();
  expect(taken()).toBe(
    "\r\x1b[Ksetup: 2 of 2, building (30 of 120 files), 40 s so far, about 2 min left",
  );
  at.seconds += 10_000;
  progress.made(3);
  progress.show();
  expect(taken()).toContain("longer than expected");
});
