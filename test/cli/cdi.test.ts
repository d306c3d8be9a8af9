// `cotenant cdi generate`: devices for container runtimes. That runtimes apply them is tested in test/containers.
import { existsSync, readFileSync, symlinkSync } from "node:fs";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { CdiDocument } from "#client";
import { packageRoot } from "#core";
import { person } from "./person.ts";

const { folder, write, cotenant, refusal } = person("cdi");
const native = `${packageRoot()}/build/native`;

beforeEach(() => void vi.stubEnv("COTENANT_DIR", folder));
afterEach(() => void vi.unstubAllEnvs());

const generate = async (...options: string[]): Promise<CdiDocument> =>
  JSON.parse(await cotenant("cdi", "generate", ...options));

/** Edits of the device of best-effort containers. */
const editsOf = ({ devices }: CdiDocument) => devices[1]?.containerEdits ?? { env: [], mounts: [] };

test("a device for each class brings the library and the agent's socket", async () => {
  const options = ["rbind", "nosuid", "nodev", "ro"];
  const edits = (kind: string, ...more: readonly string[]) => ({
    env: [
      `COTENANT_CLASS=${kind}`,
      "LD_PRELOAD=/opt/cotenant/lib/libcotenant.so",
      "COTENANT_SOCKET=/run/cotenant/shared/agent.sock",
      ...more,
    ],
    mounts: [
      { hostPath: native, containerPath: "/opt/cotenant/lib", options },
      { hostPath: `${folder}/shared`, containerPath: "/run/cotenant/shared", options },
    ],
  });
  const standIns = [
    "TRITON_PTXAS_PATH=/opt/cotenant/lib/cotenant-ptxas",
    "TRITON_PTXAS_BLACKWELL_PATH=/opt/cotenant/lib/cotenant-ptxas-blackwell",
  ];
  expect(await generate()).toEqual({
    cdiVersion: "0.3.0",
    kind: "cotenant.io/class",
    devices: [
      { name: "high", containerEdits: edits("high") },
      { name: "best-effort", containerEdits: edits("best-effort", ...standIns) },
    ],
  });
});

test("the agent is that of the machine, unless another directory is named", async () => {
  vi.stubEnv("COTENANT_DIR", "");
  expect(editsOf(await generate()).mounts[1]?.hostPath).toBe("/run/cotenant/shared");
});

test("for the software GPU they bring its library and the memory that its processes share", async () => {
  const { env, mounts } = editsOf(await generate("--gpu", "soft"));
  expect(env.slice(5)).toEqual([
    "LD_LIBRARY_PATH=/opt/cotenant/softgpu",
    "COTENANT_SOFTGPU_DIR=/opt/cotenant/softgpu-memory",
  ]);
  expect(mounts.slice(2).map(({ hostPath, options }) => [hostPath, options[3]])).toEqual([
    [`${native}/softgpu`, "ro"],
    [`${folder}/softgpu`, "rw"],
  ]);
});

test("a library that is a link is mounted from where it is", async () => {
  symlinkSync(`${native}/libcotenant.so`, `${folder}/link.so`);
  vi.stubEnv("COTENANT_LIB", `${folder}/link.so`);
  const { env, mounts } = editsOf(await generate());
  expect(env[1]).toBe("LD_PRELOAD=/opt/cotenant/lib/libcotenant.so");
  expect(mounts[0]?.hostPath).toBe(native);
});

test("--output writes what would be printed", async () => {
  expect(await cotenant("cdi", "generate", "--output", `${folder}/cotenant.json`)).toBe("");
  expect(JSON.parse(readFileSync(`${folder}/cotenant.json`, "utf8"))).toEqual(await generate());
});

test("what can't be done is refused with a sentence", async () => {
  expect(await refusal("cdi", "list")).toBe('"cdi" has no "list". Known: generate.');
  expect(await refusal("cdi", "generate", "here.json")).toContain("here.json");
  expect(await refusal("cdi", "generate", "--output", `${folder}/cotenant.yaml`)).toBe(
    `--output ${folder}/cotenant.yaml: the name of a specification must end in .json.`,
  );
  expect(await refusal("cdi", "generate", "--output", `${folder}/none/cotenant.json`)).toContain(
    `there is no folder ${folder}/none`,
  );
  const kept = write("kept.json", "{}");
  vi.stubEnv("COTENANT_LIB", `${folder}/missing.so`);
  expect(await refusal("cdi", "generate", "--output", kept)).toBe(
    `${folder}/missing.so is not there. Build it: "npm run native".`,
  );
  expect(readFileSync(kept, "utf8")).toBe("{}");
  expect(existsSync(`${folder}/cotenant.yaml`)).toBe(false);
});
