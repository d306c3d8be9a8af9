// The ways of running two jobs on one GPU that can be compared, by name. An arrangement says where each
// side's processes live; two arrangements that agree about a process share it.
import { usage } from "#core";
import { parseOverrides, policies } from "#policy";

/** Who starts a process, and what it lives in. */
export type Place =
  /** Plain processes: the driver slices time between contexts. */
  | { readonly kind: "native" }
  /** An MPS daemon of the bench's own. */
  | { readonly kind: "mps" }
  /** Both jobs in one process, a stream each. */
  | { readonly kind: "streams" }
  /** Under an agent of ours. */
  | {
      readonly kind: "cotenant";
      readonly policy: string;
      readonly mode: "isolated" | "mps";
      /** As after --set. */
      readonly rules: readonly string[];
    };

export interface Arrangement {
  readonly name: string;
  readonly place: Place;
  /** Who takes part in its windows. */
  readonly high: boolean;
  readonly bestEffort: boolean;
  /** Added to the environment of the best-effort processes. */
  readonly bestEffortEnv: Readonly<Record<string, string>>;
  /** The high job announces each request so long before it arrives; 0: it does not. */
  readonly announceUs: number;
}

const both = { high: true, bestEffort: true, bestEffortEnv: {}, announceUs: 0 } as const;
const native: Place = { kind: "native" };
const mps: Place = { kind: "mps" };
const strict = (mode: "isolated" | "mps", rules: readonly string[] = []): Place => ({
  kind: "cotenant",
  policy: "strict",
  mode,
  rules,
});

/** The denominators of every ratio: measured in every call, whatever else is. */
export const solo: Arrangement = { ...both, name: "solo", place: native, bestEffort: false };
export const alone: Arrangement = { ...both, name: "alone", place: native, high: false };

/** Best-effort work is stopped so long before a request: its kernels are over when the request comes. */
const FLOOR_US = 1000;

const fixed: readonly Arrangement[] = [
  solo,
  alone,
  { ...both, name: "floor", place: strict("isolated"), announceUs: FLOOR_US },
  { ...both, name: "floor-mps", place: strict("mps"), announceUs: FLOOR_US },
  { ...both, name: "time-slicing", place: native },
  { ...both, name: "mps", place: mps },
  {
    ...both,
    name: "mps-priority",
    place: mps,
    bestEffortEnv: { CUDA_MPS_CLIENT_PRIORITY: "1" },
  },
  { ...both, name: "streams", place: { kind: "streams" } },
];

/** For `--help` and for messages. */
export const arrangementNames: readonly string[] = [
  ...fixed.map(({ name }) => name),
  "mps-PERCENT",
  ...policies.flatMap(({ name }) => [`${name}-isolated`, `${name}-mps`]),
];

export const arrangementHelp =
  "floor: best-effort work stopped 1 ms before each request; mps-30: 30 % of the threads for " +
  "best-effort; streams: both in one process; strict-isolated:chunkUs=100 and floor:chunkUs=100 fix a rule; " +
  "solo@X and alone@X: one side of arrangement X by itself";

/** "mps-30", "strict-mps:chunkUs=100,resumeDelayUs=0", "solo@mps" …; throws a UserError. */
export function arrangementNamed(name: string): Arrangement {
  const [side = "", whole] = name.split("@");
  if (whole !== undefined && (side === "solo" || side === "alone")) {
    const of = arrangementNamed(whole);
    if (of.place.kind === "streams") throw unknown(name);
    return { ...of, name, high: side === "solo", bestEffort: side === "alone" };
  }
  const found = fixed.find((one) => one.name === name);
  if (found) return found;
  const limited = /^mps-(\d+)$/.exec(name)?.[1];
  if (limited !== undefined && Number(limited) >= 1 && Number(limited) <= 100)
    return {
      ...both,
      name,
      place: mps,
      bestEffortEnv: { CUDA_MPS_ACTIVE_THREAD_PERCENTAGE: limited },
    };
  return ours(name);
}

function ours(name: string): Arrangement {
  const [base = "", ...given] = name.split(":");
  const rules = given.join(":") === "" ? [] : given.join(":").split(",");
  const isFloor = base === "floor" || base === "floor-mps";
  if (isFloor && rules.length > 0) {
    parseOverrides(rules);
    const mode = base === "floor" ? "isolated" : "mps";
    return { ...both, name, place: strict(mode, rules), announceUs: FLOOR_US };
  }
  for (const { name: policy } of policies)
    for (const mode of ["isolated", "mps"] as const)
      if (base === `${policy}-${mode}`) {
        parseOverrides(rules);
        return { ...both, name, place: { kind: "cotenant", policy, mode, rules } };
      }
  throw unknown(name);
}

const unknown = (name: string) =>
  usage(`No arrangement is called "${name}".`, `Known: ${arrangementNames.join(", ")}.`);

/** Equal for processes that can serve several arrangements. */
export const placeKey = (place: Place): string =>
  place.kind === "cotenant"
    ? [`${place.policy}-${place.mode}`, ...place.rules].join(",")
    : place.kind;
