// The contrast of a page's colours, which are variables of its style sheet.
import type { Page } from "playwright-core";

/** By two names of colours, from 1 to 21. */
export async function contrastIn(page: Page): Promise<(one: string, other: string) => number> {
  const names = await page.evaluate<string[]>(`[...document.styleSheets]
    .flatMap((sheet) => [...sheet.cssRules])
    .filter((rule) => rule.selectorText === ":root")
    .flatMap((rule) => [...rule.style])
    .filter((name) => name.startsWith("--"))`);
  const style = "getComputedStyle(document.documentElement)";
  const colours = await page.evaluate<string[]>(
    `${JSON.stringify(names)}.map((name) => ${style}.getPropertyValue(name).trim())`,
  );
  const lights = new Map(names.map((name, i) => [name.slice(2), luminance(colours[i] ?? "")]));
  return (one, other) => {
    const [a = 0, b = 0] = [lights.get(one), lights.get(other)];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  };
}

/** Relative luminance of "#rrggbb", as WCAG defines it. */
function luminance(colour: string): number {
  const short = /^#(.)(.)(.)$/.exec(colour);
  if (short)
    return luminance(
      `#${short
        .slice(1)
        .map((digit) => digit + digit)
        .join("")}`,
    );
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
