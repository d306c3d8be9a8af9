// A command of the laboratory that somebody gives to `cotenant`, as before there was `cotenant-lab`.
import { expect, test } from "vitest";
import { cotenant, cotenantLab } from "../cli/by-hand.ts";

test.each([
  { before: "bench", argv: ["bench", "--names"], now: "bench" },
  { before: "model-llm", argv: ["model-llm", "--help"], now: "model-llm" },
  { before: "simulate", argv: ["simulate", "--help"], now: "simulate" },
  { before: "cluster simulate", argv: ["cluster", "simulate", "--help"], now: "simulate" },
  { before: "soc", argv: ["soc", "fly"], now: "soc" },
])("$argv does what cotenant-lab does, and says its new name", ({ before, argv, now }) => {
  const forwarded = cotenant(argv);
  const direct = cotenantLab([now, ...argv.slice(before.split(" ").length)]);
  expect(forwarded).toEqual({
    ...direct,
    stderr: `cotenant: "${before}" is a command of cotenant-lab now: cotenant-lab ${now} …\n${direct.stderr}`,
  });
});

test("what cotenant-lab refuses is said in its name", () => {
  expect(cotenantLab(["soc", "fly"])).toEqual({
    status: 2,
    stdout: "",
    stderr: 'cotenant-lab: "soc" can\'t do "fly". Known: plan, compare, groups.\n',
  });
});

test("cotenant-lab has none of the commands that run jobs", () => {
  expect(cotenantLab(["run", "--class", "high", "--", "true"])).toEqual({
    status: 2,
    stdout: "",
    stderr: 'cotenant-lab: "run" is a command of cotenant: cotenant run\n',
  });
});
