// `cotenant load` recorded on the software GPU: its profile says what it was asked to do.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, expect, test } from "vitest";
import { importRecording, type WorkloadProfile } from "#profile";

const directory = mkdtempSync(join(tmpdir(), "cotenant-recording-"));
afterAll(() => rmSync(directory, { recursive: true }));

const us = 1000;
const asked = ["--kernels", "6", "--kernel-us", "300", "--copy-in", "8192", "--copy-out", "4096"];

/** With what the client itself says that a request took, in ns: the median. */
function recorded(
  name: string,
  args: readonly string[],
): { profile: WorkloadProfile; requestNs: number } {
  const file = join(directory, `${name}.json`);
  const load = ["load", ...asked, "--seconds", "1", "--warmup", "0.1", "--json", ...args];
  const { status, stdout, stderr } = spawnSync("node", ["bin/cotenant", ...load], {
    encoding: "utf8",
    env: {
      ...process.env,
      LD_PRELOAD: resolve("build/native/libcotenant.so"),
      LD_LIBRARY_PATH: "build/native/softgpu",
      COTENANT_SOFTGPU_DIR: mkdtempSync(join(directory, "gpu-")),
      COTENANT_RECORD: file,
    },
  });
  expect({ status, stderr }).toMatchObject({ status: 0 });
  const about = { name, kind: "inference", file, source: "cotenant load" } as const;
  return {
    profile: importRecording(readFileSync(file, "utf8"), about),
    requestNs: JSON.parse(stdout).serviceUs.p50 * us,
  };
}

const between = (least: number, most: number) =>
  expect.toSatisfy((value: number) => value >= least && value <= most, `${least} to ${most}`);
// The software GPU keeps its own time, the machine is shared: only roughly.
const about300us = { p50: between(280 * us, 450 * us), p95: between(280 * us, 900 * us) };

test("requests of launches", () => {
  const { profile, requestNs } = recorded("launches", ["--arrivals", "closed"]);
  expect(profile.gpu).toEqual({
    name: "Cotenant Software GPU",
    computeCapability: "9.0",
    sms: 132,
  });
  expect(profile.kernels).toEqual([
    expect.objectContaining({
      name: "cotenant_load_compute",
      block: [1024, 1, 1],
      durationNs: about300us,
      smsNeeded: 132,
    }),
  ]);
  const launch = { kernel: 0, gapNs: between(0, 200 * us) };
  expect(profile.sequence).toEqual([
    { copy: "in", bytes: 8192 },
    ...Array.from({ length: 6 }, () => launch),
    { copy: "out", bytes: 4096 },
  ]);
  expect(profile.soloNs).toEqual(between(1700 * us, 1.3 * requestNs));
});

test("requests of one graph that arrive at random", () => {
  const { profile } = recorded("graph", ["--rate", "200", "--graph"]);
  const [kernel] = profile.kernels;
  expect(profile.kernels).toHaveLength(1);
  expect(kernel).toMatchObject({ name: "cotenant_load_compute", smsNeeded: 132 });
  // Outside the graph it ran only while its length was looked for.
  expect(kernel?.durationNs.p50).toEqual(about300us.p50);
  expect(profile.sequence).toEqual([
    { copy: "in", bytes: 8192 },
    { kernel: 0, gapNs: between(0, 200 * us) },
    ...Array.from({ length: 5 }, () => ({ kernel: 0, gapNs: 0 })),
    { copy: "out", bytes: 4096 },
  ]);
});
