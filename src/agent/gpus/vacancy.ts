// Whether GPUs take a client now: the answer to a Hello of kind ask, as `cotenant run` sends it before a job starts. It
// reserves nothing, and names no other client.
import { type ClientClass, welcomeStatus } from "#protocol";
import { type Admission, type Identity, tenantOf } from "../tenants/index.ts";
import { capacity, type ServedGpu } from "./gpu.ts";

/** Why a GPU does not take a client. `passes`: it may take it later. */
interface Obstacle {
  readonly reason: string;
  readonly passes: boolean;
}

export interface Applying {
  readonly identity: Identity;
  readonly startTime: number;
  readonly class: ClientClass;
}

/** Reasons besides the clients that are there. Each returns a sentence; undefined: nothing stands in the way. */
export interface Conditions {
  readonly admission: Admission;
  /** No new best-effort client may come to that GPU. */
  readonly closedFor?: ((uuid: string) => string | undefined) | undefined;
  /** Best-effort work of that GPU stands still because an operator wants it. */
  readonly heldFor?: ((uuid: string) => string | undefined) | undefined;
}

/** The status and reason of a Welcome. */
interface Answer {
  readonly status: number;
  readonly reason: string;
}

/** Slots of the applicant's tenant on a GPU, without one that the applicant itself has. */
export function slotsOfTenant(
  gpu: ServedGpu | undefined,
  { identity, startTime }: Pick<Applying, "identity" | "startTime">,
): number {
  const tenant = tenantOf(identity);
  const others = (gpu?.clients ?? []).filter(
    (client) =>
      client.identity &&
      tenantOf(client.identity) === tenant &&
      !(client.pid === identity.pid && client.startTime === startTime),
  );
  return others.length;
}

export const allSlotsTaken = (kind: ClientClass, uuid: string): string =>
  `All ${capacity[kind]} places for ${kind} clients on ${uuid} are taken.`;

/**
 * The reason that keeps the applicant from one GPU; undefined: it would be admitted. `gpu`: undefined while it has no client.
 */
function obstacleOn(
  uuid: string,
  gpu: ServedGpu | undefined,
  applying: Applying,
  { admission, closedFor, heldFor }: Conditions,
): Obstacle | undefined {
  const { identity, class: kind } = applying;
  const { refusal, passes = false } = admission.judge(identity, kind, slotsOfTenant(gpu, applying));
  if (refusal !== undefined) return { reason: refusal, passes };
  const wanted = kind === "best-effort" ? (closedFor?.(uuid) ?? heldFor?.(uuid)) : undefined;
  const taken = (gpu?.clients ?? []).filter((client) => client.class === kind).length;
  const reason = wanted ?? (taken >= capacity[kind] ? allSlotsTaken(kind, uuid) : undefined);
  return reason === undefined ? undefined : { reason, passes: true };
}

/**
 * ok if at least one of the GPUs takes the applicant, or none is known yet; later if one may do so in time, with the reason
 * of the first such; refused otherwise.
 *
 * @param uuids the GPUs that the applicant may use
 */
export function vacancyOn(
  uuids: readonly string[],
  served: readonly ServedGpu[],
  applying: Applying,
  conditions: Conditions,
): Answer {
  const { ok, later, refused } = welcomeStatus;
  const { refusal, passes } = conditions.admission.judge(applying.identity, applying.class, 0);
  if (refusal !== undefined && !passes) return { status: refused, reason: refusal };
  const obstacles = uuids.map((uuid) => {
    const gpu = served.find((one) => one.uuid === uuid);
    return obstacleOn(uuid, gpu, applying, conditions);
  });
  if (obstacles.length === 0 || obstacles.includes(undefined)) return { status: ok, reason: "" };
  const passing = obstacles.find((obstacle) => obstacle?.passes);
  const reason = (passing ?? obstacles[0])?.reason ?? "";
  const others = obstacles.length > 1 ? `None of ${obstacles.length} GPUs is free. ` : "";
  return { status: passing ? later : refused, reason: `${others}${reason}` };
}
