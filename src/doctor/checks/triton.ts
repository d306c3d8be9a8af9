import { spawnSync } from "node:child_process";
import { assemblersIn, runningAgent, type Status } from "#agent";
import { agentHere, askStatus } from "#client";
import { assemblerStandIns, tritonVariable, UserError } from "#core";
import { type Finding, pass, skip, warn } from "../facts/finding.ts";
import type { Surroundings } from "../facts/surroundings.ts";

const check = "Triton";

export async function checkTriton(around: Surroundings): Promise<readonly Finding[]> {
  return [checkInstalled(around), ...checkClients(await statusHere())];
}

const WHERE = `import importlib.util as u; s = u.find_spec("triton"); print(s.submodule_search_locations[0] if s else "")`;

/** A program of the python3 in PATH would use this one. */
export function checkInstalled({ env }: Surroundings): Finding {
  const { stdout } = spawnSync("python3", ["-c", WHERE], { env, encoding: "utf8" });
  const folder = (stdout ?? "").trim();
  const assemblers = assemblersIn(folder);
  if (folder === "" || assemblers.length === 0)
    return skip(check, "The python3 in PATH has no Triton with assemblers of its own.");
  const standIns = assemblerStandIns();
  const unknown = assemblers
    .map(tritonVariable)
    .filter((variable) => !standIns.some((one) => one.variable === variable));
  return unknown.length === 0
    ? pass(
        check,
        `Cotenant has a stand-in for each assembler of ${folder}: ${assemblers.join(", ")}.`,
      )
    : warn(
        check,
        `${folder} takes assemblers from ${unknown.join(" and ")}, for which this version has no stand-in: its kernels can't stop inside.`,
        "Use a version of Cotenant that knows this Triton.",
      );
}

async function statusHere(): Promise<Pick<Status, "gpus"> | undefined> {
  try {
    const own = runningAgent(agentHere().directory);
    return own && (await askStatus(own));
  } catch (error) {
    if (error instanceof UserError) return undefined; // the check of the agent says it
    throw error;
  }
}

const checkClients = (status: Pick<Status, "gpus"> | undefined): readonly Finding[] =>
  (status?.gpus ?? [])
    .flatMap(({ bestEffort }) => bestEffort)
    .flatMap(({ name, pid, triton }) =>
      triton === undefined
        ? []
        : triton.past.length === 0
          ? [pass(check, `${name} (pid ${pid}) compiles its kernels by Cotenant's stand-ins.`)]
          : [
              warn(
                check,
                `${name} (pid ${pid}) compiles kernels that can't stop inside: ${triton.past.join(" and ")} of its environment is not Cotenant's.`,
                'Start it by "cotenant run", and leave these variables alone.',
              ),
            ],
    );
