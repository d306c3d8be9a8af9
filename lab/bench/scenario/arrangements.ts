// The places in which the processes of an arrangement run. Two arrangements share a process if it runs in the same
// place in both.
import { parseArrangement, type Sharing } from "#policies";

/** The surroundings of a process. */
export type Place =
  /** Plain processes. The driver gives contexts time slices. */
  | { readonly kind: "native" }
  /** An MPS daemon that the bench starts. */
  | { readonly kind: "mps" }
  /** Both jobs in one process, each on its own stream. */
  | { readonly kind: "streams" }
  /** Under an agent of Cotenant. */
  | {
      readonly kind: "cotenant";
      readonly policy: string;
      readonly mode: "isolated" | "mps";
      /** Each job is a user of its own in namespaces of its own, under an agent of the machine. */
      readonly tenants: boolean;
      /** Written as after --set. */
      readonly rules: readonly string[];
    };

export interface Arrangement {
  readonly name: string;
  readonly place: Place;
  /** Which sides take part in its windows. */
  readonly high: boolean;
  readonly bestEffort: boolean;
  /** Added to the environment of the best-effort processes. */
  readonly bestEffortEnv: Readonly<Record<string, string>>;
  /** How long before it arrives the high job announces each request; 0: it does not. */
  readonly announceUs: number;
}

/** Throws a UserError for an unknown name. */
export function arrangementNamed(name: string): Arrangement {
  const { sharing, ...sides } = parseArrangement(name);
  return { ...sides, name, place: placeOf(sharing), bestEffortEnv: environmentOf(sharing) };
}

function placeOf(sharing: Sharing): Place {
  switch (sharing.kind) {
    case "time-slicing":
      return { kind: "native" };
    case "cotenant":
      return { ...sharing, policy: sharing.policy.name };
    default:
      return { kind: sharing.kind };
  }
}

function environmentOf(sharing: Sharing): Record<string, string> {
  if (sharing.kind !== "mps") return {};
  return {
    ...(sharing.priorities && { CUDA_MPS_CLIENT_PRIORITY: "1" }),
    ...(sharing.percent < 100 && {
      CUDA_MPS_ACTIVE_THREAD_PERCENTAGE: String(sharing.percent),
    }),
  };
}

/** The arrangements that every ratio is relative to. They are always measured. */
export const solo = arrangementNamed("solo");
export const alone = arrangementNamed("alone");

/** Equal for processes that can serve several arrangements. */
export const placeKey = (place: Place): string =>
  place.kind === "cotenant"
    ? [`${place.policy}-${place.tenants ? "tenants" : place.mode}`, ...place.rules].join(",")
    : place.kind;
