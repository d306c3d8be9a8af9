import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { expect, onTestFinished, test } from "vitest";
import { checkInstalled } from "./triton.ts";

function withTriton(...assemblers: readonly string[]) {
  const root = mkdtempSync(`${tmpdir()}/cotenant-doctor-`);
  onTestFinished(() => rmSync(root, { recursive: true }));
  const bin = `${root}/triton/backends/nvidia/bin`;
  if (assemblers.length > 0) mkdirSync(bin, { recursive: true });
  for (const name of assemblers) writeFileSync(`${bin}/${name}`, "");
  if (assemblers.length > 0) writeFileSync(`${root}/triton/__init__.py`, "raise SystemExit(1)\n");
  const env = { PATH: process.env.PATH, PYTHONPATH: root };
  return { root: "", env, uid: 1000, itself: [], driver: undefined };
}

test.each([
  { assemblers: ["ptxas", "ptxas-blackwell"], is: "pass", says: "ptxas, ptxas-blackwell" },
  { assemblers: ["ptxas"], is: "pass", says: "stand-in for each" },
  { assemblers: ["ptxas", "ptxas-rubin"], is: "warn", says: "TRITON_PTXAS_RUBIN_PATH" },
])("the Triton of python3 has $assemblers: $is", ({ assemblers, is, says }) => {
  const { verdict, says: text } = checkInstalled(withTriton(...assemblers));
  expect(verdict).toBe(is);
  expect(text).toContain(says);
});
