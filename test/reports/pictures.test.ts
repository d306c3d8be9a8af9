// SVG files in a real browser: every text lies within the picture, whatever things are called; one outlier leaves the
// others their room; dark where the reader's system is.
import { readFileSync } from "node:fs";
import { afterAll, describe, expect, test } from "vitest";
import { type BenchResult, type Cell, chart } from "#bench";
import { picture, solve } from "#soc";
import { overTimeChart } from "../../bench/live/over-time-chart.ts";
import { closeBrowser, hasBrowser, visit } from "../dashboard/browser.ts";
import { exampleProblem } from "../soc/example.ts";

afterAll(closeBrowser);

const LONG =
  "a-very-long-name=with-WWW-and-模型训练-that-goes-on-and-on-and-on-and-on-and-on-and-on";
const ratio = (value: number) => ({ value, low: value, high: value, rounds: [value] });

const cell = (arrangement: string, p99: number, kept: number): Cell => ({
  arrangement,
  status: "ok",
  high: {
    requests: 100,
    latencyMs: { p50: 1, p95: 1, p99 },
    burstMs: { p50: 1, p99 },
    latency: { p50: ratio(1), p95: ratio(1), p99: ratio(p99) },
    burst: { p50: ratio(1), p99: ratio(p99) },
    throughput: ratio(1),
    activeShare: ratio(0.2),
  },
  bestEffort: {
    jobs: [{ name: "train", perS: 1, retained: ratio(kept) }],
    retained: ratio(kept),
    retainedOfPossible: kept,
    costSavings: kept,
  },
});

const result = (high: string, cells: readonly Cell[]): BenchResult => ({
  version: 2,
  kind: "bench",
  date: "2030-01-02T03:04:05Z",
  machine: { gpu: "GPU", driver: "1", cpu: "CPU", cpus: 2 },
  commit: "0",
  command: "cotenant-lab bench",
  note: "",
  scenario: {
    name: high,
    high: { name: high, command: "serve", facts: {} },
    bestEffort: [{ name: LONG, command: "train", facts: {} }],
    load: 0.2,
    ratePerS: 10,
    arrivals: "poisson",
    rounds: 1,
    windowSeconds: 1,
  },
  cells,
});

/** Eight points at one place beyond the chart, whose labels have no room there. */
const outliers = Array.from({ length: 8 }, (_, i) => cell(`mps-${i}`, 5000 + 100 * i, 0.9));
const bench = chart([
  result("serve", [cell("strict-isolated", 1, 0.7), cell("time-slicing", 2, 0.7), ...outliers]),
  result(LONG, [
    cell(`strict-mps:${LONG}`, 1.1, 0.9),
    { arrangement: LONG, status: "failed", reason: LONG },
  ]),
]);

const overTime = overTimeChart({
  high: LONG,
  bestEffort: LONG,
  gpu: LONG,
  binS: 1,
  steps: Array.from({ length: 60 }, (_, i) => ({ seconds: 1, ratePerS: 10_000 * i })),
  arrangements: ["solo", LONG, "time-slicing", "mps", "floor", "strict-isolated"].map(
    (name, a) => ({
      name,
      bins: Array.from({ length: 60 }, (_, i) => ({
        fromS: i,
        p50Ms: 1,
        requests: 1,
        p99Ms: a === 1 && i === 30 ? 1e6 : 1 + a,
        kept: a === 1 && i === 30 ? 12 : 0.5,
      })),
    }),
  ),
});

const example = exampleProblem({ networks: 3, groups: 4, maxTransitions: 4, seed: 2, limit: 80 });
const problem = {
  ...example,
  accelerators: example.accelerators.map((one) => ({ ...one, name: `${one.name} ${LONG}` })),
  networks: example.networks.map((one) => ({ ...one, name: LONG })),
};
const soc = picture(problem, solve(problem, () => 0).timeline, LONG);

const files = ["slowdown", "responsiveness"].map(
  (name) => [name, readFileSync(`docs/results/charts/${name}.svg`, "utf8")] as const,
);
const pictures = [...files, ["bench", bench], ["over time", overTime], ["soc", soc]] as const;

const shown = async (svg: string, width = 1280, colorScheme: "light" | "dark" = "light") =>
  (
    await visit(
      `data:text/html;charset=utf-8,${encodeURIComponent(`<!doctype html><body style="margin:0">${svg}`)}`,
      {
        viewport: { width, height: 800 },
        colorScheme,
      },
    )
  ).page;

/** Texts that reach over the picture's sides. */
const REACHING_OUT = `(() => {
  const svg = document.querySelector("svg");
  const frame = svg.getBoundingClientRect();
  return [...svg.querySelectorAll("text")].filter((text) => {
    const box = text.getBoundingClientRect();
    return box.left < frame.left || box.right > frame.right || box.top < frame.top || box.bottom > frame.bottom;
  }).map((text) => text.textContent);
})()`;

describe.skipIf(!hasBrowser)("a picture", () => {
  test.each(pictures)(
    "%s: every text is within it, and it is not wider than a phone's screen",
    async (_, svg) => {
      const page = await shown(svg, 400);
      expect(await page.evaluate('document.querySelectorAll("text").length')).toBeGreaterThan(5);
      expect(await page.evaluate(REACHING_OUT)).toEqual([]);
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(400);
    },
  );

  test.each(pictures)(
    "%s: has a title and a description, and a dark ground where that is wanted",
    async (_, svg) => {
      const page = await shown(svg, 1280, "dark");
      const image = page.getByRole("img");
      const names = await image.evaluate((one) => [
        one.querySelector("title")?.textContent,
        one.querySelector("desc")?.textContent,
      ]);
      for (const name of names) expect(name?.length).toBeGreaterThan(10);
      const [ground, ink] = await page.evaluate<string[]>(
        '[getComputedStyle(document.querySelector("svg > rect")).fill, getComputedStyle(document.querySelector("svg > text")).fill]',
      );
      expect([ground, ink]).toEqual(["rgb(15, 20, 25)", "rgb(230, 237, 243)"]);
    },
  );

  test("of the bench gives outliers a value each, and the others at least a quarter of the axis from 1x to 2x", async () => {
    const page = await shown(bench);
    const texts = await page.locator("text").allTextContents();
    for (let i = 0; i < outliers.length; i++)
      expect(texts.filter((text) => text.includes(`↑ 5,${i}00x`))).toHaveLength(1);
    const yOf = (tick: string) =>
      page
        .getByText(tick, { exact: true })
        .first()
        .evaluate((one) => Number(one.getAttribute("y")));
    expect((await yOf("1x")) - (await yOf("2x"))).toBeGreaterThan(190 / 4);
  });

  test("over time has a logarithmic axis of latency; what is kept beyond its axis has its value", async () => {
    const page = await shown(overTime);
    expect(await page.getByText("↑ 12", { exact: true }).count()).toBe(1);
    expect(await page.getByText("1M", { exact: true }).count()).toBe(1);
    // Half is kept: its line is at a third of the axis, which ends at 1.5.
    const yOf = (tick: string) =>
      page
        .getByText(tick, { exact: true })
        .last()
        .evaluate((one) => Number(one.getAttribute("y")));
    expect((await yOf("0.25")) - (await yOf("0.75"))).toBeCloseTo(120 / 3, 0);
  });
});
