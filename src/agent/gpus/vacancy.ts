// Answers a Hello of kind ask, which `cotenant run` sends before a job starts. It reserves nothing,
// and names no other client.
import { type ClientClass, welcomeStatus } from "#protocol";
import { type Admission, type Identity, tenantOf } from "../tenants/index.ts";
import { capacity, type ServedGpu } from "./gpu.ts";

interface Obstacle {
  readonly reason: string;
  readonly passes: boolean;
}

export interface Applying {
  readonly identity: Identity;
  readonly startTime: number;
  readonly class: ClientClass;
}

export interface Conditions {
  readonly admission: Admission;
  readonly closedFor?: ((uuid: string) => string | undefined) | undefined;
  readonly heldFor?: ((uuid: string) => string | undefined) | undefined;
}

interface Answer {
  readonly status: number;
  readonly reason: string;
}

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

/** ok if one GPU takes the applicant, or none is known; later if one may do so in time. */
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
