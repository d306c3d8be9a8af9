// Modules that the bundle makes a command load before it runs.
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const sizeOf = (file: string) => readFileSync(`dist/${file}`).length;
const bundled = readdirSync("dist").filter((name) => name.endsWith(".js"));

/** The files that these import, and so on, with them; those of `await import(…)` not. */
function loadedBy(files: readonly string[]): ReadonlySet<string> {
  const loaded = new Set<string>();
  const wanted = [...files];
  for (let file = wanted.pop(); file !== undefined; file = wanted.pop()) {
    if (loaded.has(file)) continue;
    loaded.add(file);
    const text = readFileSync(`dist/${file}`, "utf8");
    for (const [, other = ""] of text.matchAll(/^import .*?"\.\/([\w.-]+\.js)";$/gm))
      wanted.push(other);
  }
  return loaded;
}

test.each(["run", "status", "why"])("cotenant %s loads a tenth of the code", (name) => {
  const own = bundled.filter((file) => new RegExp(`^${name}-[\\w-]{8}\\.js$`).test(file));
  expect(own).toHaveLength(1);
  const loaded = [...loadedBy(["cotenant.js", ...own])];
  expect(loaded.length).toBeGreaterThan(3);
  const bytes = (files: readonly string[]) => files.reduce((sum, file) => sum + sizeOf(file), 0);
  expect(bytes(loaded)).toBeLessThan(bytes(bundled) / 10);
});
