import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { mpsEnvironment, pathsIn, startMps } from "#agent";
import { runDirectory, temporaryFolder, UserError } from "#core";
import { type Finding, pass, skip, warn } from "../facts/finding.ts";
import { gpusOf, type Surroundings, textOf } from "../facts/surroundings.ts";

/** The kernel cuts the name of the process at 15 letters. */
const CONTROL = "nvidia-cuda-mps-control".slice(0, 15);

export async function checkMps(around: Surroundings): Promise<Finding> {
  const check = "MPS";
  if (gpusOf(around).length === 0) return skip(check, "There is no NVIDIA GPU to start MPS for.");
  const folder = temporaryFolder("doctor");
  const folders = { pipes: join(folder, "mps"), logs: join(folder, "mps-log") };
  try {
    const daemon = await startMps(folders, around.env, () => {});
    await daemon.stop();
    return pass(check, "An MPS daemon starts and answers.");
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return warn(
      check,
      `${error.message} Mode mps can't be used.`,
      "nvidia-cuda-mps-control comes with NVIDIA's driver; mode isolated needs none.",
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export function checkOtherMps(around: Surroundings): Finding {
  const check = "other MPS";
  const { env, uid } = around;
  const own = mpsEnvironment({
    pipes: pathsIn(runDirectory(env, uid)).mpsPipes,
    logs: "",
  }).CUDA_MPS_PIPE_DIRECTORY;
  const named = env.CUDA_MPS_PIPE_DIRECTORY;
  if (named !== undefined && named !== own)
    return warn(
      check,
      `CUDA_MPS_PIPE_DIRECTORY=${named}: programs that start here become clients of the MPS daemon there, in mode isolated too.`,
      "Unset CUDA_MPS_PIPE_DIRECTORY for jobs under Cotenant.",
    );
  const other = daemonsIn(around).find(({ pipes }) => pipes !== own);
  return other
    ? warn(
        check,
        `An MPS daemon that Cotenant has not started runs (pid ${other.pid}, pipes in ${other.pipes ?? "an unknown folder"}): programs that find it are side by side, also in mode isolated.`,
        'Stop it as its user: "echo quit | nvidia-cuda-mps-control".',
      )
    : pass(check, "No other MPS daemon runs.");
}

/** `pipes`: undefined where it is another user's. A zombie is no daemon. */
function daemonsIn(around: Surroundings) {
  return readdirSync(`${around.root}/proc`)
    .filter((pid) => /^\d+$/.test(pid) && textOf(around, `/proc/${pid}/comm`)?.trim() === CONTROL)
    .filter((pid) => !/^State:\s+[ZX]/m.test(textOf(around, `/proc/${pid}/status`) ?? ""))
    .map((pid) => ({ pid, pipes: pipesOf(textOf(around, `/proc/${pid}/environ`)) }));
}

function pipesOf(environ: string | undefined): string | undefined {
  if (environ === undefined) return undefined;
  const [, pipes] = /(?:^|\0)CUDA_MPS_PIPE_DIRECTORY=([^\0]*)/.exec(environ) ?? [];
  return pipes ?? "/tmp/nvidia-mps";
}
