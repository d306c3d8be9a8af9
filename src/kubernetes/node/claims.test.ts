import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { PreparedClaims } from "./claims.ts";

const claim = {
  ...{ namespace: "default", uid: "11-22", name: "cotenant-1", podUid: "33", podName: "train" },
  ...{ gpu: "GPU-1", memoryBytes: 5, devices: [] },
};

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "cotenant-claims-"));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return path;
}

test("a prepared claim is known to the next process, until it is removed", () => {
  const at = folder();
  new PreparedClaims(at).write(claim, { env: ["A=b"], mounts: [] });
  const claims = new PreparedClaims(at);
  expect(claims.get("11-22")).toEqual(claim);
  claims.remove("11-22");
  claims.remove("11-22");
  expect([claims.all(), readdirSync(at)]).toEqual([[], []]);
});

test("others' specifications, half-written and damaged files are no claims", () => {
  const at = folder();
  const claims = new PreparedClaims(at);
  claims.write(claim, { env: [], mounts: [] });
  writeFileSync(join(at, "nvidia.json"), "{}");
  writeFileSync(join(at, "gpu.cotenant.io-claim_9.json"), "{");
  writeFileSync(join(at, "gpu.cotenant.io-claim_8.json.new"), "{}");
  expect(claims.all().map(({ uid }) => uid)).toEqual(["11-22"]);
});

test("no UID leads out of the folder", () => {
  expect(() => new PreparedClaims(folder()).remove("../x")).toThrow('"../x" is no UID of a claim');
});
