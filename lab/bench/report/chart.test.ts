import fc from "fast-check";
import { expect, test } from "vitest";
import { chart } from "./chart.ts";
import { alone, cell, failedCell, nasty, result, solo } from "./invented.ts";

/** A simple check of XML: tags are balanced, attributes are quoted, and no mark is left over. */
function expectWellFormed(svg: string): void {
  const open: string[] = [];
  const rest = svg.replace(
    /<(\/?)([\w-]+)((?: [\w:-]+="[^"<]*")*)(\/?)>/g,
    (_, closing: string, name: string, _attributes: string, empty: string) => {
      if (closing) expect(open.pop()).toBe(name);
      else if (!empty) open.push(name);
      return "";
    },
  );
  expect(open).toEqual([]);
  expect(rest).not.toMatch(/[<>]|&(?!(amp|lt|gt|quot);)/);
  expect(svg).not.toMatch(/NaN|undefined|Infinity/);
}

const pointsIn = (svg: string): [number, number][] =>
  [...svg.matchAll(/class="point" transform="translate\(([\d.]+) ([\d.]+)\)"/g)].map(([, x, y]) => [
    Number(x),
    Number(y),
  ]);

/** Where the axes place a value. */
function tick(svg: string, label: string): [number, number] {
  const found = new RegExp(`<text x="([-\\d.]+)" y="([-\\d.]+)"[^>]*>${label}</text>`).exec(svg);
  return [Number(found?.[1]), Number(found?.[2])];
}

test("points lie where the axes say: kept to the right, slowdown up on a log scale", () => {
  const svg = chart([
    result([
      solo(),
      alone(),
      cell("time-slicing", 10, 0.25),
      cell("mps", 2, 0.5),
      cell("strict-isolated", 1, 1),
    ]),
  ]);
  const [slicing, mps, strict] = pointsIn(svg);
  expect(pointsIn(svg)).toHaveLength(3);
  expect(slicing?.[0]).toBeCloseTo(tick(svg, "25 %")[0], 0);
  expect(mps?.[0]).toBeCloseTo(tick(svg, "50 %")[0], 0);
  expect(strict?.[0]).toBeCloseTo(tick(svg, "100 %")[0], 0);
  // Labels of the y axis are 4 below their line.
  expect(slicing?.[1]).toBeCloseTo(tick(svg, "10x")[1] - 4, 0);
  expect(mps?.[1]).toBeCloseTo(tick(svg, "2x")[1] - 4, 0);
  expect(strict?.[1]).toBeCloseTo(tick(svg, "1x")[1] - 4, 0);
});

test("the other figure is the burst's p50", () => {
  const results = [result([cell("mps", 9, 0.5, 2)])];
  const svg = chart(results, { figure: "p50" });
  expect(pointsIn(svg)[0]?.[1]).toBeCloseTo(tick(svg, "2x")[1] - 4, 0);
  expect(svg).toContain("p50 slowdown (log)");
  expect(chart(results)).toContain("p99 slowdown (log)");
});

test("what failed is named in its panel, its reason in the description", () => {
  const svg = chart([
    result([cell("mps", 2, 0.5), failedCell("streams", "out of <memory>\nmore")]),
  ]);
  expect(svg).toMatch(/class="failed"(?:.|\n)*>failed: streams<\/text>/);
  expect(svg).toMatch(/<desc[^>]*>.*streams failed: out of &lt;memory&gt;\.</);
});

test("a panel for each pair, with one legend", () => {
  const svg = chart(["a", "b", "c", "d", "e"].map((high) => result([cell("mps", 2, 0.5)], high)));
  expect(svg.match(/class="panel"/g)).toHaveLength(5);
  expect(svg.match(/class="legend"/g)).toHaveLength(1);
});

test("well-formed, and every point inside the picture, whatever is measured and however it is called", () => {
  const figure = fc.oneof(
    fc.double({ min: 1e-3, max: 1e5, noNaN: true }),
    fc.constantFrom(0, Number.NaN),
  );
  const cells = fc.array(
    fc.oneof(
      fc
        .tuple(nasty, figure, fc.double({ min: 0, max: 1.5, noNaN: true }), figure)
        .map(([arrangement, p99, kept, p50]) => cell(arrangement, p99, kept, p50)),
      fc.tuple(nasty, nasty).map(([arrangement, reason]) => failedCell(arrangement, reason)),
    ),
  );
  fc.assert(
    fc.property(
      fc.array(
        fc.tuple(cells, nasty).map(([some, high]) => result(some, high)),
        { maxLength: 10 },
      ),
      fc.constantFrom("p99" as const, "p50" as const),
      (results, which) => {
        const svg = chart(results, { figure: which });
        expectWellFormed(svg);
        for (const [x, y] of pointsIn(svg)) {
          expect(x).toBeLessThanOrEqual(560);
          expect(y).toBeLessThanOrEqual(190);
        }
      },
    ),
  );
});
