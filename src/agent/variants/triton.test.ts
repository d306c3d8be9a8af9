import { spawn } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { temporaryDirectory } from "../../../test/agent/fakes.ts";
import { assemblersIn, tritonOf } from "./triton.ts";

const TRITON = "/site packages/triton";

/** A folder with the files of a Triton. */
function installed(...assemblers: readonly string[]): string {
  const folder = `${temporaryDirectory()}${TRITON}`;
  mkdirSync(`${folder}/_C`, { recursive: true });
  mkdirSync(`${folder}/backends/nvidia/bin`, { recursive: true });
  for (const name of [...assemblers, "cuobjdump"])
    writeFileSync(`${folder}/backends/nvidia/bin/${name}`, "");
  return folder;
}

/** The pid of a process that has the library of a Triton mapped. */
async function processWith(folder: string, env: Readonly<Record<string, string>>) {
  const [, library] = /(\/\S*libm\.so\.6)/.exec(readFileSync("/proc/self/maps", "utf8")) ?? [];
  copyFileSync(library ?? "", `${folder}/_C/libtriton.so`);
  const script = `import ctypes; ctypes.CDLL("${folder}/_C/libtriton.so"); print("loaded", flush=True); input()`;
  const child = spawn("python3", ["-c", script], { env: { PATH: process.env.PATH, ...env } });
  onTestFinished(() => void child.kill());
  await new Promise((resolve) => child.stdout.once("data", resolve));
  return child.pid ?? 0;
}

const both = {
  TRITON_PTXAS_PATH: "/somewhere/cotenant-ptxas",
  TRITON_PTXAS_BLACKWELL_PATH: "/opt/cotenant/lib/cotenant-ptxas-blackwell",
};

test.each([
  { what: "both stand-ins", env: both, past: [] },
  { what: "none", env: {}, past: ["TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"] },
  {
    what: "that of the other assembler",
    env: { ...both, TRITON_PTXAS_BLACKWELL_PATH: both.TRITON_PTXAS_PATH },
    past: ["TRITON_PTXAS_BLACKWELL_PATH"],
  },
])("a process whose variables name $what", async ({ env, past }) => {
  const pid = await processWith(installed("ptxas", "ptxas-blackwell"), env);
  expect(tritonOf(pid)).toEqual({ past });
});

test("an assembler of a later Triton that has no stand-in is named by its variable", async () => {
  const pid = await processWith(installed("ptxas", "ptxas-rubin"), both);
  expect(tritonOf(pid)).toEqual({ past: ["TRITON_PTXAS_RUBIN_PATH"] });
});

test("a process without Triton has nothing to say of", () => {
  expect(tritonOf(process.pid)).toBeUndefined();
  expect(assemblersIn("/nowhere")).toEqual([]);
});
