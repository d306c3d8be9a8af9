// The report of `cotenant-lab simulate` in a real browser: on a run as it is, and on the same run with one value far
// beyond the others.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Locator } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { exampleScenario, type Figures, htmlReport, readClusterScenario, simulate } from "#cluster";
import { closeBrowser, hasBrowser, visit } from "../dashboard/browser.ts";
import { contrastIn } from "../dashboard/contrast.ts";

const HOURS = 4;
const OUTLIER = 812;
const AT = 7;

const folder = mkdtempSync(join(tmpdir(), "cotenant-report-"));
const urls = {
  usual: pathToFileURL(`${folder}/usual.html`).href,
  outlier: pathToFileURL(`${folder}/outlier.html`).href,
};
let figures: readonly Figures[] = [];

afterAll(async () => {
  await closeBrowser();
  rmSync(folder, { recursive: true });
});

beforeAll(() => {
  const scenario = readClusterScenario(
    JSON.stringify({
      ...exampleScenario,
      hours: HOURS,
      gpus: [{ type: "GPU", count: 12, memoryGB: 24 }],
      services: exampleScenario.services.map((one) => ({ ...one, gpus: 4 })),
      jobs: {
        workloads: ["small-train", "vgg-train"],
        count: 60,
        medianMinutes: 10,
        withinHours: 2,
      },
      schedulers: ["online-only", "priority-time-sharing", "kace-greedy", "muxflow", "cotenant"],
    }),
    "example",
    () => "",
  );
  const [seed = 1] = scenario.seeds;
  figures = scenario.schedulers.map((kind) => simulate(scenario.plan(seed), kind));
  const page = (all: readonly Figures[]) =>
    htmlReport({
      name: "<b>a day</b>",
      about: scenario.about,
      command: `cotenant-lab simulate ${"long/".repeat(30)}`,
      figures: all,
      hours: HOURS,
    });
  writeFileSync(`${folder}/usual.html`, page(figures));
  writeFileSync(`${folder}/outlier.html`, page(figures.map(withOutlier)));
});

const withOutlier = (one: Figures): Figures =>
  one.scheduler === "muxflow"
    ? {
        ...one,
        series: one.series.map((point, i) => (i === AT ? { ...point, slowdown: OUTLIER } : point)),
      }
    : one;

const figuresOf = (scheduler: string): Figures => {
  const found = figures.find((one) => one.scheduler === scheduler);
  if (!found) throw new Error(scheduler);
  return found;
};

/** Elements that reach over the sides of the screen; what only screen readers see is none. */
const REACHING_OUT = `[...document.body.querySelectorAll("*")].filter((one) => {
  const { left, right, width } = one.getBoundingClientRect();
  return width > 1 && !one.closest("svg") && (left < -0.5 || right > innerWidth + 0.5);
}).map((one) => one.outerHTML.slice(0, 100))`;

async function pointAt(plot: Locator, part: number) {
  const box = await plot.boundingBox();
  await plot.hover({ position: { x: part * (box?.width ?? 0), y: 9 } });
}

describe.skipIf(!hasBrowser)("the report", () => {
  test.each([
    ["usual", 1280, "light"],
    ["usual", 400, "dark"],
    ["outlier", 1280, "dark"],
    ["outlier", 400, "light"],
  ] as const)(
    "%s: nothing is cut off at %i px in %s, and nothing is loaded",
    async (which, width, colorScheme) => {
      const { page, asked, said } = await visit(urls[which], {
        viewport: { width, height: 800 },
        colorScheme,
      });
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
      expect(await page.evaluate(REACHING_OUT)).toEqual([]);
      expect(asked.filter((line) => !line.startsWith("GET data:"))).toEqual([`GET ${urls[which]}`]);
      expect(said).toEqual([]);
    },
  );

  test("values under the pointer, and at the arrow keys, are those of the run", async () => {
    const { page } = await visit(urls.usual);
    const chart = page.locator(".chart").first();
    const plot = chart.locator(".plot");
    const seen = figuresOf("cotenant").series.filter(({ hour }) => hour < HOURS);
    const shown = async () => ({
      where: await chart.locator(".where").textContent(),
      values: await chart.locator(".values b").allTextContents(),
    });
    const expected = (point: number) => ({
      where: `hour ${seen[point]?.hour}`,
      values: figures.map(({ series }) => series[point]?.slowdown.toFixed(3)),
    });
    const atRest = await shown();
    expect(atRest.where).toBe("Means over the day:");
    await pointAt(plot, AT / (seen.length - 1));
    expect(await shown()).toEqual(expected(AT));
    await page.mouse.move(0, 0);
    expect(await shown()).toEqual(atRest);
    await plot.focus();
    await page.keyboard.press("Home");
    expect(await shown()).toEqual(expected(0));
    await page.keyboard.press("ArrowRight");
    expect(await shown()).toEqual(expected(1));
    await page.keyboard.press("Escape");
    expect(await shown()).toEqual(atRest);
  });

  test("one value far beyond the others is at the border with its value, and the others keep their height", async () => {
    const { page } = await visit(urls.outlier);
    const chart = page.locator(".chart").first();
    expect(await chart.locator(".beyond").textContent()).toContain(
      `muxflow up to ${OUTLIER.toFixed(3)} at hour ${AT / 4}`,
    );
    expect(await chart.locator(".peak").count()).toBeGreaterThan(0);
    const heights = await chart
      .locator(".curve")
      .evaluateAll((all) =>
        all
          .filter((one) => one.getAttribute("data-name") !== "muxflow")
          .map(
            (one) => one.getBoundingClientRect().height / (one.parentElement?.clientHeight ?? 1),
          ),
      );
    expect(heights.sort((a, b) => b - a)[1]).toBeGreaterThan(0.2);
    await pointAt(chart.locator(".plot"), AT / (4 * HOURS - 1));
    expect(await chart.locator(".values b").allTextContents()).toContain(OUTLIER.toFixed(3));
  });

  test.each(["light", "dark"] as const)(
    "text and curves have enough contrast in %s",
    async (colorScheme) => {
      const { page } = await visit(urls.usual, { colorScheme });
      const contrast = await contrastIn(page);
      for (const ground of ["ground", "raised"])
        for (const ink of ["ink", "quiet", "bad"])
          expect(contrast(ink, ground), `${ink} on ${ground}`).toBeGreaterThan(4.5);
      for (let i = 0; i < 9; i++)
        expect(contrast(`curve${i}`, "raised"), `${i}`).toBeGreaterThan(3);
    },
  );

  test("charts ask a question and describe themselves; headings are in order", async () => {
    const { page } = await visit(urls.usual);
    const labels = await page
      .getByRole("img")
      .evaluateAll((all) => all.map((one) => one.getAttribute("aria-label") ?? ""));
    expect(labels).toHaveLength(8);
    for (const label of labels) {
      expect(label).toMatch(/^[A-Z][^?]+\? .*\. Arrow keys read single points\.$/);
      for (const { scheduler } of figures.filter(({ finished }) => finished > 0))
        expect(label).toContain(`${scheduler} `);
    }
    const levels = await page
      .locator("h1,h2,h3")
      .evaluateAll((all) => all.map(({ tagName }) => Number(tagName[1])));
    levels.forEach((level, i) => {
      expect(level - (levels[i - 1] ?? 0)).toBeLessThanOrEqual(1);
    });
  });
});
