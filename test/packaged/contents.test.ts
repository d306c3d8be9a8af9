// Files that the package brings beside the programs: the work of others with its licences, and pages that help names.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { isBuiltin } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "cotenant-contents-"));
afterAll(() => rmSync(folder, { recursive: true }));
beforeAll(() => {
  const packed = execFileSync(process.execPath, ["scripts/package.mjs", folder], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [file = ""] = packed.split(" (");
  execFileSync("tar", ["-xzf", file, "-C", folder, "--strip-components=1"]);
});
const read = (path: string) => readFileSync(join(folder, path), "utf8");

/** Only helpers of tests import them, which stand beside the code. */
const ofTests: ReadonlySet<string> = new Set(["vitest", "fast-check"]);

/** Packages of others that the product and the laboratory import themselves. */
function imported(): ReadonlySet<string> {
  const files = ["src", "lab"]
    .flatMap((root) =>
      readdirSync(root, { recursive: true, encoding: "utf8" }).map((name) => `${root}/${name}`),
    )
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"));
  const names = files.flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(/^(?:import|\} from) .*?"([^"./#][^"]*)";$/gm)]
      .map(([, name = ""]) => name)
      .filter((name) => !isBuiltin(name) && !ofTests.has(name))
      .map((name) =>
        name
          .split("/")
          .slice(0, name.startsWith("@") ? 2 : 1)
          .join("/"),
      ),
  );
  return new Set(names);
}

test("each package of others is named with its licence, in a notice and in a bill of materials", () => {
  const sections = read("dist/THIRD-PARTY-NOTICES.txt")
    .split(`${"=".repeat(70)}\n`)
    .slice(1);
  const noticed = sections.map((text) => text.split(" ", 1)[0]);
  for (const section of sections) {
    expect(section).toMatch(/^\S+ \d+\.\d+\.\d+\S* \([\w.-]+\)\n/);
    expect(section.length).toBeGreaterThan(500);
  }
  expect(imported().size).toBeGreaterThan(5);
  for (const name of imported()) expect(noticed).toContain(name);
  const { bomFormat, components } = JSON.parse(read("dist/sbom.cdx.json"));
  expect(bomFormat).toBe("CycloneDX");
  expect(components.map(({ name }: { readonly name: string }) => name)).toEqual(noticed);
  for (const { hashes } of components) expect(hashes[0].content).toMatch(/^[0-9a-f]{128}$/);
});

test("pages of the guide that help names are there", () => {
  const named = new Set(
    read("dist/cotenant.1")
      .replaceAll("\\-", "-")
      .match(/docs\/guide\/[\w/-]+\.md/g),
  );
  expect(named.size).toBeGreaterThan(5);
  for (const page of named) expect(read(page)).toMatch(/^# /);
});
