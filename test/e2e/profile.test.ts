// From a measured profile to the gate: what a high client publishes of its kernels.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { training } from "./faults.ts";
import { cotenantItself, eventually, startMachine, temporaryDirectory } from "./machine.ts";

const load = [...cotenantItself, "load", "--kernels", "4", "--kernel-us", "500", "--warmup", "0"];
const closed = ["--arrivals", "closed"];

async function profiled() {
  const profiles = temporaryDirectory();
  const machine = await startMachine({ COTENANT_PROFILES: profiles }, "--set", "wantKernels=1");
  const soft = {
    LD_LIBRARY_PATH: "build/native/softgpu",
    COTENANT_SOFTGPU_DIR: `${machine.directory}/softgpu`,
  };
  const args = ["profile", "--name", "net", "--no-ncu", "--", ...load, ...closed];
  const measured = await machine.cotenant([...args, "--seconds", "1"], soft);
  expect(measured).toMatchObject({ status: 0 });
  const [file = ""] = readdirSync(profiles);
  const path = join(profiles, file);
  // As Nsight Compute would have told.
  const whole = readFileSync(path, "utf8").replaceAll('"class":"unknown"', '"class":"memory"');
  writeFileSync(path, whole);
  return { machine, path };
}

test("a high client publishes the class, SMs and duration that its profile says", async () => {
  const { machine, path } = await profiled();
  // Only best-effort clients are told.
  const told = machine.load("best-effort", training);
  await told.serving;
  const seen = () => {
    const { highKernel = 0, highKernelUs = 0 } = machine.memory().holds[0] ?? {};
    return { class: highKernel >>> 16, sms: highKernel & 0xffff, us: highKernelUs };
  };
  for (const [profile, shape] of [
    ["net", closed],
    [path, ["--graph", "--rate", "100"]],
  ] as const) {
    const args = ["run", "--class", "high", "--profile", profile, "--", ...load, ...shape];
    const ended = machine.cotenant([...args, "--seconds", "2"]);
    const launches = profile === "net" ? 1 : 4;
    await eventually("its kernels are known", () => {
      try {
        return seen().class === 2 && seen().us >= Math.min(4095, launches * 400);
      } catch {
        return false; // no client yet
      }
    });
    expect(seen()).toMatchObject({ class: 2, sms: 132 });
    expect(await ended).toMatchObject({ status: 0, stderr: expect.not.stringMatching(/profile/) });
  }
  await told.finish();
  // Both ways to name it hand over the same table.
  expect(readdirSync(join(machine.directory, "kernels"))).toHaveLength(1);
});

test("a profile that is not there, or of another GPU, is refused with the reason", async () => {
  const profiles = temporaryDirectory();
  const machine = await startMachine({ COTENANT_PROFILES: profiles });
  const run = async (profile: string) => {
    const args = ["run", "--class", "high", "--profile", profile, "--", "true"];
    const { status, stderr } = await machine.cotenant(args);
    return { status, stderr: stderr.trim() };
  };
  const net = {
    version: 1,
    name: "net",
    kind: "inference",
    gpu: { name: "NVIDIA H200", computeCapability: "9.0", sms: 132 },
    source: "by hand",
    kernels: [],
    sequence: [],
  };
  writeFileSync(join(profiles, "net@NVIDIA+H200.json"), JSON.stringify(net));
  expect(await run("nothing")).toEqual({
    status: 1,
    stderr: `cotenant: There is no profile file nothing, and no profile of that name in ${profiles}. Known: net.`,
  });
  expect(await run("net")).toEqual({
    status: 1,
    stderr: expect.stringMatching(
      /^cotenant: The profile net was recorded on NVIDIA H200; this is Cotenant Software GPU\. Durations and SM needs/,
    ),
  });
  const damaged = join(profiles, "damaged.json");
  writeFileSync(damaged, "{");
  expect(await run(damaged)).toEqual({
    status: 1,
    stderr: expect.stringMatching(/damaged\.json, line 1/),
  });
});
