import { expect, test } from "vitest";
import { exampleProblem } from "../../../test/soc/example.ts";
import { planDocument } from "../export.ts";
import { picture } from "../picture.ts";
import { adapt } from "./adapt.ts";
import { baselines } from "./baselines.ts";
import { solve } from "./solve.ts";
import { makespanMs, timeline } from "./timeline.ts";

const problem = exampleProblem({ networks: 2, groups: 4, maxTransitions: 4, seed: 2, limit: 80 });
const found = solve(problem, () => 0);

test("the table has the naive baselines and the published mappings", () => {
  const all = baselines(problem);
  expect(all.map(({ name }) => name)).toEqual([
    "gpu only",
    "dla only",
    "gpu & dla",
    "Mensa",
    "Herald",
    "H2H",
  ]);
  // The mappers ignore contention, so none predicts more than the timeline has.
  for (const { predictedMs, timeline } of all) {
    expect(predictedMs).toBeLessThanOrEqual(makespanMs(timeline) + 1e-9);
    expect(makespanMs(found.timeline)).toBeLessThanOrEqual(makespanMs(timeline) + 1e-9);
  }
});

test("the picture has a box and a name for every group and a line for every transition, and names are escaped", () => {
  const named = { ...problem, networks: problem.networks.map((one) => ({ ...one, name: "a<b" })) };
  const assignment = [
    [0, 1, 1, 0],
    [1, 1, 0, 0],
  ];
  const svg = picture(named, timeline(named, { ...found.plan, assignment }), "t & t");
  expect(svg.match(/ms to move from/g)).toHaveLength(3);
  expect(svg.match(/<title>/g)).toHaveLength(8 + 3);
  expect(svg).toContain("waits for the accelerator");
  expect(svg).toContain("a&lt;b");
  expect(svg).toContain("t &amp; t");
});

test("a group in a narrow box has its name upright", () => {
  const wide = exampleProblem({ networks: 1, groups: 20, maxTransitions: 0, seed: 1 });
  const names = wide.networks.map((one) => ({
    ...one,
    groups: one.groups.map((group, i) => ({ ...group, name: `layers ${i}` })),
  }));
  const svg = picture({ ...wide, networks: names }, solve(wide, () => 0).timeline, "t");
  for (let i = 0; i < 20; i++) expect(svg).toContain(`>layers ${i}</text>`);
  expect(svg).toContain("rotate(-90");
});

test("a plan is written by names", () => {
  const document = planDocument(problem, found);
  expect(document.networks.map(({ groups }) => groups.map((one) => one.accelerator))).toEqual(
    found.plan.assignment.map((one) => one.map((a) => problem.accelerators[a]?.name)),
  );
  expect(JSON.parse(JSON.stringify(document))).toMatchObject({ version: 1, optimal: true });
});

test("loops run at once, never get slower within a phase, and end optimal; a new set starts with a naive plan", () => {
  const other = exampleProblem({ networks: 3, groups: 3, maxTransitions: 2, seed: 4 });
  const sliceMs = (work: () => void) => {
    work();
    return 1;
  };
  const loops = adapt(
    [
      { fromMs: 0, problem },
      { fromMs: 100, problem: other },
    ],
    300,
    { sliceMs, beside: 1 },
  );
  expect(loops[0]?.startMs).toBeLessThan(5);
  for (const [i, loop] of loops.entries()) {
    const before = loops[i - 1];
    if (before?.phase === loop.phase) {
      expect(loop.latencyMs).toBeLessThanOrEqual(before.latencyMs + 1e-9);
      expect(loop.startMs).toBeCloseTo(before.startMs + before.latencyMs, 9);
    }
  }
  for (const phase of [0, 1]) {
    const last = loops.filter((one) => one.phase === phase).at(-1);
    expect(last?.optimal).toBe(true);
    const best = solve(phase === 0 ? problem : other, () => 0);
    expect(last?.latencyMs).toBeCloseTo(makespanMs(best.timeline), 3);
  }
});
