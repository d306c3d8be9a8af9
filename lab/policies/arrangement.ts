// The ways of running a high job and best-effort jobs on one GPU that are compared, by name: measured on a GPU and
// predicted on a modelled one.
import { usage } from "#core";
import { type Policy, parseOverrides } from "#policy";
import { allPolicies } from "./registry.ts";

/** How the two sides share. */
export type Sharing =
  /** Plain processes: the driver slices time between contexts. */
  | { readonly kind: "time-slicing" }
  /** One process, a stream each, the high job's of high priority. */
  | { readonly kind: "streams" }
  | {
      readonly kind: "mps";
      /** Best-effort clients have low client priority. */
      readonly priorities: boolean;
      /** Percentage of the threads, for best-effort clients. */
      readonly percent: number;
    }
  | {
      readonly kind: "cotenant";
      readonly policy: Policy;
      readonly mode: "isolated" | "mps";
      /** Each job is a user of its own in namespaces of its own, under an agent of the machine. */
      readonly tenants: boolean;
      /** As after --set. */
      readonly rules: readonly string[];
    };

export interface ParsedArrangement {
  readonly sharing: Sharing;
  /** The clients that take part. */
  readonly high: boolean;
  readonly bestEffort: boolean;
  /** The high job announces each request so long before it arrives; 0: it does not. */
  readonly announceUs: number;
}

/** Best-effort work is stopped so long before a request: its kernels are over when the request comes. */
const FLOOR_US = 1000;

const both = { high: true, bestEffort: true, announceUs: 0 } as const;
const timeSlicing: Sharing = { kind: "time-slicing" };
const mps = (percent: number, priorities = false): Sharing => ({
  kind: "mps",
  priorities,
  percent,
});

const fixed: Readonly<Record<string, ParsedArrangement>> = {
  solo: { ...both, sharing: timeSlicing, bestEffort: false },
  alone: { ...both, sharing: timeSlicing, high: false },
  "time-slicing": { ...both, sharing: timeSlicing },
  mps: { ...both, sharing: mps(100) },
  "mps-priority": { ...both, sharing: mps(100, true) },
  streams: { ...both, sharing: { kind: "streams" } },
};

interface Ours {
  readonly policy: Policy;
  readonly mode: "isolated" | "mps";
  readonly tenants: boolean;
  readonly announceUs: number;
}

/**
 * By the part of the name before the rules: POLICY-MODE; POLICY-tenants, which is isolated; and the floor, which is `strict`
 * reported each request.
 */
const ours: ReadonlyMap<string, Ours> = new Map(
  allPolicies.flatMap((policy) =>
    (["isolated", "mps", "tenants"] as const).flatMap((form): [string, Ours][] => {
      const tenants = form === "tenants";
      const how = { policy, mode: tenants ? "isolated" : form, tenants } as const;
      const plain: [string, Ours] = [`${policy.name}-${form}`, { ...how, announceUs: 0 }];
      if (policy.name !== "strict" || tenants) return [plain];
      const floor = form === "isolated" ? "floor" : "floor-mps";
      return [[floor, { ...how, announceUs: FLOOR_US }], plain];
    }),
  ),
);

/** For `--help` and for messages. */
export const arrangementNames: readonly string[] = [
  ...Object.keys(fixed),
  "mps-PERCENT",
  ...ours.keys(),
];

export const arrangementHelp =
  "floor: best-effort work stopped 1 ms before each request; mps-30: 30 % of the threads for " +
  "best-effort; streams: both in one process; strict-tenants: strict-isolated with each job as a user of its own in " +
  "namespaces of its own, which needs root; strict-isolated:chunkUs=100 and floor:chunkUs=100 fix a rule; " +
  "solo@X and alone@X: one side of arrangement X by itself";

/** "mps-30", "strict-mps:chunkUs=100,resumeDelayUs=0", "floor", "solo@mps" …; throws a UserError. */
export function parseArrangement(name: string): ParsedArrangement {
  const [side = "", whole] = name.split("@");
  if (whole !== undefined && (side === "solo" || side === "alone")) {
    const of = parseArrangement(whole);
    if (of.sharing.kind === "streams") throw unknown(name);
    return { ...of, high: side === "solo", bestEffort: side === "alone" };
  }
  const known = Object.hasOwn(fixed, name) ? fixed[name] : undefined;
  if (known) return known;
  const percent = Number(/^mps-(\d+)$/.exec(name)?.[1]);
  if (percent >= 1 && percent <= 100) return { ...both, sharing: mps(percent) };
  const [base = "", ...given] = name.split(":");
  const found = ours.get(base);
  if (!found) throw unknown(name);
  const rules = given.join(":").split(",").filter(Boolean);
  parseOverrides(rules);
  const { announceUs, ...how } = found;
  return { ...both, sharing: { kind: "cotenant", ...how, rules }, announceUs };
}

const unknown = (name: string) =>
  usage(
    `No arrangement is called ${JSON.stringify(name)}.`,
    `Known: ${arrangementNames.join(", ")}.`,
  );
