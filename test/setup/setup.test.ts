// The setup before the demo of `npm start`, in a copy of this clone that lacks one native part.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, symlinkSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, onTestFinished, test } from "vitest";

test("setup builds what is missing of what users run, and says each step once", () => {
  const root = mkdtempSync(join(tmpdir(), "cotenant-setup-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const parts = ["native", "bench/cost", "bench/live", "src", "lab", "scripts", "build/native"];
  const files = ["package.json", "package-lock.json", "vite.config.ts", "tsconfig.json"];
  // With its times, by which make and setup go.
  spawnSync("cp", ["-a", "--parents", ...parts, ...files, root]);
  symlinkSync(resolve("node_modules"), join(root, "node_modules"));
  utimesSync(join(root, "package-lock.json"), 0, 0);
  for (const name of ["cotenant-ptxas", "tests"])
    rmSync(join(root, "build/native", name), { recursive: true });
  const { status, stderr } = spawnSync(process.execPath, ["scripts/setup.mjs"], {
    cwd: root,
    encoding: "utf8",
  });
  expect(status, stderr).toBe(0);
  expect(stderr).toMatch(
    /^setup: 0 s so far, .* left: building the native parts \(0 of \d+ files\)$/m,
  );
  expect(stderr).toMatch(/^setup: \d+ s so far, .*: bundling the commands$/m);
  expect(stderr).toMatch(/^setup: done in \d+ (s|min)\.$/m);
  expect(existsSync(join(root, "build/native/cotenant-ptxas"))).toBe(true);
  expect(existsSync(join(root, "build/native/tests"))).toBe(false);
  for (const built of ["dist/cotenant.js", "dist/lab/cotenant-lab.js"])
    expect(existsSync(join(root, built)), built).toBe(true);
});
