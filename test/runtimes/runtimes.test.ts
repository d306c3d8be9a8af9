// Programs of NVIDIA's CUDA runtime, unmodified, on the software GPU: by themselves and as clients of an agent.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Machine, startMachine } from "../e2e/machine.ts";
import { native } from "../native.ts";

const { CUDA_HOME = "", CI, COTENANT_RUNTIME_KEY: key } = process.env;
const tools = fileURLToPath(new URL("../../scripts/cuda-programs", import.meta.url));
const built = spawnSync(tools, ["--built"], { encoding: "utf8" });
const programs = built.stdout.trim();
const noCuda = CUDA_HOME ? "" : "CUDA_HOME is not set.";
if (noCuda && CI) throw new Error(noCuda);
const notBuilt = built.status !== 0 ? built.stderr.trim() : "";
const why = noCuda || (key ? notBuilt : "COTENANT_RUNTIME_KEY is not set.");
if (why) console.warn(`SKIPPED: programs of CUDA on the software GPU: ${why}`);

const releases = ["12.1", "12.9", "13.0", "13.5"];
const roles = ["by itself", "high", "best-effort"] as const;
type Role = (typeof roles)[number];

async function run(role: Role, program: readonly string[], env: Record<string, string>) {
  const machine: Machine = await startMachine({});
  const client =
    role === "by itself"
      ? machine.elsewhere(program, {
          ...env,
          COTENANT_SOFTGPU_DIR: join(machine.directory, "softgpu"),
          LD_LIBRARY_PATH: [join(native, "softgpu"), env.LD_LIBRARY_PATH].filter(Boolean).join(":"),
        })
      : machine.run(role, program, env);
  const ended = await client.ended;
  if (role !== "by itself")
    expect(readFileSync(join(machine.directory, "agent.log"), "utf8")).toMatch(
      new RegExp(`attached client=\\S+ class=${role} pid=${client.pid} `),
    );
  return ended;
}

/** It ends well. Otherwise its stderr says why. */
async function ends(role: Role, program: readonly string[], env: Record<string, string>) {
  const { status, signal, stdout, stderr } = await run(role, program, env);
  expect({ status, signal, stderr: status === 0 ? "" : stderr }).toEqual({
    status: 0,
    signal: null,
    stderr: "",
  });
  return { stdout, stderr };
}

const said = (text: string) =>
  text.split("\n").filter((line) => line.startsWith("cotenant: the software GPU"));
const NO_CODE =
  "cotenant: the software GPU runs no code: each kernel takes 10 us and leaves memory as it is, so results are not computed";

let scratch = "";
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), "cotenant-runtimes-"));
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const source = "test/runtimes/runtime.cu";
const nvcc = (...words: string[]) =>
  execFileSync(join(CUDA_HOME, "bin/nvcc"), words, {
    env: { ...process.env, CUDA_HOME },
    stdio: ["ignore", "ignore", "pipe"],
  });

test.skipIf(noCuda).each([
  ["without the key", ""],
  ["with something that is no key", "0123456789abcdef0123456789abcdeg"],
])("%s a program of the runtime reads at once what is missing", async (_, stated) => {
  const program = join(mkdtempSync(join(scratch, "keyless-")), "runtime");
  nvcc("-arch=sm_90", "-L", join(CUDA_HOME, "lib"), "-o", program, source);
  const { status, stderr } = await run("by itself", [program], { COTENANT_RUNTIME_KEY: stated });
  expect(status).toBe(1);
  expect(said(stderr)).toEqual([expect.stringContaining("state it in COTENANT_RUNTIME_KEY")]);
});

test.skipIf(noCuda)("with a key that is not NVIDIA's the runtime itself refuses", async () => {
  const program = join(mkdtempSync(join(scratch, "wrong-")), "runtime");
  nvcc("-arch=sm_90", "-L", join(CUDA_HOME, "lib"), "-o", program, source);
  const wrong = { COTENANT_RUNTIME_KEY: "00112233445566778899AABBCCDDEEFF" };
  const { status, stderr } = await run("by itself", [program], wrong);
  expect(status).toBe(1);
  expect(said(stderr)).toEqual([]);
});

describe.skipIf(why)("a program that nvcc made", () => {
  const answer = {
    devices: 1,
    counter: 5,
    again: 5,
    back: 3,
    nodes: 5,
    threads: 256,
    tooWide: true,
    longEnough: true,
  };

  describe.each(releases)("with libcudart of CUDA %s", (release) => {
    let program = "";
    let library = "";
    beforeAll(() => {
      const [major = ""] = release.split(".");
      const folder = major === "12" ? "cuda_runtime" : "cu13";
      library = join(programs, `runtime-${release}/nvidia`, folder, `lib/libcudart.so.${major}`);
      const object = join(scratch, "runtime.o");
      if (!existsSync(object))
        nvcc("-gencode", "arch=compute_90,code=sm_90", "-c", "-o", object, source);
      program = join(scratch, `runtime-${release}`);
      execFileSync("g++", ["-o", program, object, library]);
    });
    test.each(roles)("runs %s", async (role) => {
      const { stdout, stderr } = await ends(role, [program], { LD_LIBRARY_PATH: dirname(library) });
      expect(JSON.parse(stdout)).toMatchObject({
        ...answer,
        runtime: Number(release.replace(".", "0")),
        shared: 1024,
      });
      expect(said(stderr)).toEqual([NO_CODE]);
    });
  });

  test.each([
    ["PTX", ["-gencode", "arch=compute_80,code=compute_80"]],
    ["machine code and PTX", ["-arch=sm_90"]],
    ["code packed for speed", ["-arch=sm_90", "-Xfatbin", "--compress-mode=speed"]],
    ["code packed for size", ["-arch=sm_90", "-Xfatbin", "--compress-mode=size"]],
    ["code that is not packed", ["-arch=sm_90", "-Xfatbin", "--compress-mode=none"]],
    ["several architectures", ["-arch=all-major"]],
  ])("runs with %s and the runtime linked into it", async (_what, words) => {
    const program = join(mkdtempSync(join(scratch, "static-")), "runtime");
    nvcc(...words, "-L", join(CUDA_HOME, "lib"), "-o", program, source);
    const { stdout } = await ends("by itself", [program], {});
    expect(JSON.parse(stdout)).toMatchObject(answer);
  });

  test("learns at its first kernel that its architecture isn't there", async () => {
    const program = join(mkdtempSync(join(scratch, "other-")), "runtime");
    nvcc(
      "-gencode",
      "arch=compute_80,code=sm_80",
      "-L",
      join(CUDA_HOME, "lib"),
      "-o",
      program,
      source,
    );
    const { status, stderr } = await run("by itself", [program], {});
    expect(status).toBe(1);
    expect(stderr).toContain("no kernel image is available for execution on the device");
  });
});

describe.skipIf(why)("Python", () => {
  const python = (name: string) => join(programs, `python-${name}`, "bin/python");
  const compiled = (name: string) => ({
    CUPY_CACHE_DIR: join(scratch, `cupy-${name}`),
    NUMBA_CACHE_DIR: join(scratch, `numba-${name}`),
  });

  describe.each(["12", "13"])("with CUDA %s", (name) => {
    test.each(roles)("runs CuPy %s", async (role) => {
      const { stdout, stderr } = await ends(
        role,
        [python(name), "test/runtimes/cupy_program.py"],
        compiled(name),
      );
      expect(stdout).toContain("ended");
      expect(said(stderr)).toEqual([NO_CODE]);
    });
    test.each(roles)("runs Numba %s", async (role) => {
      const { stdout, stderr } = await ends(
        role,
        [python(name), "test/runtimes/numba_program.py"],
        compiled(name),
      );
      expect(stdout).toContain("ended");
      expect(said(stderr)).toEqual([NO_CODE]);
    });
  });

  // It takes 6 GB: before a release, scripts/cuda-programs --torch installs it.
  const torch = existsSync(join(programs, "python-torch/complete"));
  test.each(torch ? roles : [])("runs PyTorch %s", async (role) => {
    const { stdout, stderr } = await ends(
      role,
      [python("torch"), "test/runtimes/torch_program.py"],
      {
        TORCHINDUCTOR_CACHE_DIR: join(scratch, "inductor"),
        TRITON_CACHE_DIR: join(scratch, "triton"),
      },
    );
    expect(stdout).toContain("ended");
    expect(said(stderr)).toEqual([NO_CODE]);
  });
});
