// The processes of each arrangement. A process is named after its job and the place in which it runs. So arrangements
// with the same process share it, and it is started once.
import { type Arrangement, placeKey } from "./arrangements.ts";
import type { Job, Scenario } from "./scenario.ts";

interface Role {
  /** The name of the process. */
  readonly process: string;
  /** The name by which the control files address it. */
  readonly name: string;
}

export interface Roles {
  readonly high: Role | undefined;
  readonly bestEffort: readonly Role[];
}

/** The jobs of a process. It has the jobs of both sides if they are streams of one process. */
export interface ProcessPlan {
  readonly name: string;
  readonly high: Job | undefined;
  readonly bestEffort: Job | undefined;
  readonly arrangement: Arrangement;
}

const plain = (text: string) => text.replace(/[^A-Za-z0-9]+/g, "-").replace(/-$/, "");

function highProcess(arrangement: Arrangement): string {
  return plain(`high ${placeKey(arrangement.place)}`);
}

function bestEffortProcess(arrangement: Arrangement, index: number): string {
  const env = Object.values(arrangement.bestEffortEnv).join(" ");
  const variant = Object.keys(arrangement.bestEffortEnv).join(" ").toLowerCase();
  return plain(`be${index + 1} ${placeKey(arrangement.place)} ${variant} ${env}`);
}

export function rolesIn(arrangement: Arrangement, scenario: Scenario): Roles {
  if (arrangement.place.kind === "streams")
    return {
      high: { process: "streams", name: "high-streams" },
      bestEffort: [{ process: "streams", name: "be1-streams" }],
    };
  const high = highProcess(arrangement);
  return {
    high: arrangement.high ? { process: high, name: high } : undefined,
    bestEffort: arrangement.bestEffort
      ? scenario.bestEffort.map((_, i) => {
          const name = bestEffortProcess(arrangement, i);
          return { process: name, name };
        })
      : [],
  };
}

export function processesOf(arrangement: Arrangement, scenario: Scenario): ProcessPlan[] {
  const { high, bestEffort } = rolesIn(arrangement, scenario);
  if (arrangement.place.kind === "streams")
    return [
      {
        name: "streams",
        high: scenario.high,
        bestEffort: scenario.bestEffort[0],
        arrangement,
      },
    ];
  return [
    ...(high
      ? [{ name: high.process, high: scenario.high, bestEffort: undefined, arrangement }]
      : []),
    ...bestEffort.map(({ process }, i) => ({
      name: process,
      high: undefined,
      bestEffort: scenario.bestEffort[i],
      arrangement,
    })),
  ];
}

const memoryOf = ({ high, bestEffort }: ProcessPlan): number =>
  (high?.memory ?? 0) + (bestEffort?.memory ?? 0);

/**
 * Divides the arrangements into waves, so that the processes of a wave fit into GPU memory together. Each wave includes
 * the arrangements of `always`. undefined if an arrangement does not fit even alone.
 */
export function waves(
  scenario: Scenario,
  always: readonly Arrangement[],
  memory: number,
): Arrangement[][] | undefined {
  const demand = (arrangements: readonly Arrangement[]) => {
    const processes = arrangements.flatMap((one) => processesOf(one, scenario));
    const distinct = new Map(processes.map((one) => [one.name, memoryOf(one)]));
    return [...distinct.values()].reduce((sum, bytes) => sum + bytes, 0);
  };
  const fits = (wave: readonly Arrangement[]) => demand([...always, ...wave]) <= memory;
  if (!fits([])) return undefined;
  const found: Arrangement[][] = [];
  for (const one of scenario.arrangements.filter((candidate) => !always.includes(candidate))) {
    if (!fits([one])) return undefined;
    // The first wave with room. An earlier wave may have it, because an arrangement whose processes are in a wave needs
    // no more memory there.
    const wave = found.find((candidate) => fits([...candidate, one]));
    if (wave) wave.push(one);
    else found.push([one]);
  }
  return found.length > 0 ? found : [[]];
}
