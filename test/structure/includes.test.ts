import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { includesAgainstTheOrder } from "./includes.ts";
import { layers, upward } from "./layers.ts";

const sources = execFileSync("git", ["ls-files", "native/*.cpp", "native/*.h", "native/*.def"], {
  encoding: "utf8",
})
  .trimEnd()
  .split("\n");
const read = (path: string) => readFileSync(path, "utf8");

test("every include of the native parts points the way that layers.ts says", () => {
  expect(includesAgainstTheOrder(sources, read)).toEqual([]);
});

test.each(upward)("$file still includes $includes", ({ file, includes }) => {
  expect(read(file)).toContain(`#include "${includes.slice("native/".length)}"`);
});

test("layers.ts and ARCHITECTURE.md name the same layers in the same order", () => {
  const text = read("ARCHITECTURE.md");
  const section = text.slice(text.indexOf("### Layers of native/interposer"));
  const named = [...section.slice(0, section.indexOf("\n## ")).matchAll(/^\| `(\w+)`/gm)];
  expect(named.map(([, folder]) => folder)).toEqual(layers["native/interposer"]);
});

test.each([
  ["native/interposer/base/a.h", "interposer/state/gpu.h"],
  ["native/interposer/state/streams.h", "interposer/lifetime/attachment.h"],
  ["native/interposer/high/a.cpp", "interposer/best_effort/border.h"],
  ["native/interposer/calls/a.h", "softgpu/device/clock.h"],
  ["native/interposer/calls/a.h", "ptxas/refusal.h"],
  ["native/interposer/calls/a.h", "interposer/nowhere/a.h"],
  ["native/softgpu/device/a.h", "softgpu/engine/engine.h"],
  ["native/softgpu/api/a.cpp", "interposer/base/clock.h"],
  ["native/gate/a.cpp", "interposer/base/clock.h"],
])("in %s, an include of %s points the wrong way", (path, name) => {
  expect(includesAgainstTheOrder([path], () => `  # include "${name}"\n`)).toHaveLength(1);
});

test.each([
  ["native/interposer/state/streams.cpp", "interposer/lifetime/attachment.h"],
  ["native/interposer/state/a.cpp", "interposer/state/gpu.h"],
  ["native/interposer/best_effort/a.cpp", "interposer/variants/variants.h"],
  ["native/interposer/best_effort/a.cpp", "gate/gate.h"],
  ["native/softgpu/api/a.cpp", "softgpu/driver/driver.h"],
])("in %s, an include of %s points the right way", (path, name) => {
  expect(includesAgainstTheOrder([path], () => `#include "${name}"\n`)).toEqual([]);
});
