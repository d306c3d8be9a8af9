import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { environmentAt } from "#client";
import { errors, interposer, softGpuFolder, temporaryFolder } from "#core";
import { type Finding, fail, pass, skip } from "../facts/finding.ts";
import { gpusOf, type Surroundings } from "../facts/surroundings.ts";

const WITHIN_MS = 60_000;
const OWN_LIBRARIES = ["cat", "/proc/self/maps"] as const;

export async function checkLibrary({ env }: Surroundings): Promise<Finding> {
  const check = "library";
  try {
    const library = interposer(env);
    const { stdout, stderr } = await run(OWN_LIBRARIES, { ...env, LD_PRELOAD: library });
    return stdout.includes(library)
      ? pass(check, `${library} is loaded into programs.`)
      : fail(
          check,
          `${library} is not loaded into programs: ${firstLine(stderr) || "the loader does not say why"}.`,
          'Build it here: "npm run native". Programs of another C library than glibc can\'t load it.',
        );
  } catch (error) {
    const { message, hint } = errors.asUserError(error);
    return fail(check, message, hint);
  }
}

/** The library connects at an agent's socket when it has seen the program's context. */
export async function checkHooks(around: Surroundings): Promise<Finding> {
  const check = "hooks";
  const soft = gpusOf(around).length === 0;
  const where = soft ? "the software GPU" : "the NVIDIA GPU";
  const folder = temporaryFolder("doctor");
  let knocks = 0;
  const agent = createServer((knock) => {
    knocks++;
    knock.on("error", () => {});
    knock.destroy();
  });
  try {
    const socket = join(folder, "agent.sock");
    agent.listen(socket);
    await once(agent, "listening");
    const { COTENANT_OFF: _, ...env } = around.env;
    const client = { kind: "high", name: "doctor", memory: undefined, off: false } as const;
    const { status, stderr } = await run([...around.itself, "make-context"], {
      ...env,
      ...environmentAt(socket, client, env),
      ...(soft ? softGpuIn(folder, env) : {}),
    });
    if (knocks > 0 && status === 0)
      return pass(check, `A program that uses ${where} is seen by the library.`);
    return status === 0
      ? fail(
          check,
          `A program has made a CUDA context on ${where}, and the library has not seen it.`,
          "Look at the other checks: another preloaded library may be in front of it.",
        )
      : fail(
          check,
          `A program could make no CUDA context on ${where}: ${lastLine(stderr) || `status ${status}`}`,
          "See whether another CUDA program runs here, without Cotenant.",
        );
  } catch (error) {
    return skip(check, `It can't be tried: ${errors.asUserError(error).message}`);
  } finally {
    agent.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function softGpuIn(folder: string, env: Surroundings["env"]): Record<string, string> {
  const memory = join(folder, "softgpu");
  mkdirSync(memory);
  const behind = env.LD_LIBRARY_PATH ? `:${env.LD_LIBRARY_PATH}` : "";
  return { LD_LIBRARY_PATH: `${softGpuFolder()}${behind}`, COTENANT_SOFTGPU_DIR: memory };
}

/** `status` is undefined if a signal or the time limit ended it. */
async function run([program = "", ...args]: readonly string[], env: Surroundings["env"]) {
  const child = spawn(program, args, {
    env: { ...env },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: WITHIN_MS,
  });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk) => (stdout += chunk));
  child.stderr.on("data", (chunk) => (stderr += chunk));
  const [status] = (await once(child, "close")) as [number | null];
  return { status: status ?? undefined, stdout, stderr };
}

const firstLine = (text: string): string => text.trim().split("\n")[0] ?? "";
const lastLine = (text: string): string =>
  (text.trim().split("\n").at(-1) ?? "").replace(/^cotenant: /, "");
