// A climbing policy's (ladder.ts) memory of a high client: its solo bursts (reference.ts), the evidence for or
// against its objective at the level in force, its usual load, and the evidence of its requests.

import type { MeteredHigh, Objective, ObjectiveState } from "../contract/policy.ts";
import { type Evidence, noEvidence } from "../evidence/evidence.ts";
import { noPace, noProgress, type Pace, type Progress } from "../evidence/throughput.ts";
import { noPacing, type PacingMemory, withoutCorrection } from "../requests/pacing.ts";
import { nothingOfRequests, type RequestKind, type RequestsMemory } from "../requests/requests.ts";
import { burstsThatTell } from "./enough.ts";
import { noWaits, type Waits } from "./gaps.ts";
import { type Load, noLoad } from "./load.ts";
import { type Bursts, type Limits, limitsOf, noBursts } from "./yardstick.ts";

export interface ClientMemory {
  readonly objective: Objective | undefined;
  readonly state: ObjectiveState;
  /** It trains, so its `slowdown` is about throughput, not about bursts. */
  readonly training: boolean;
  /** Bursts since it came. */
  readonly bursts: number;
  /** The shortest mean of its bursts at a sample, in us. */
  readonly shortestUs: number;
  readonly reference: Reference | undefined;
  /** Bursts alone that will become the next reference. */
  readonly growing: Alone;
  /** When best-effort work was last paused for it. */
  readonly pausedAtMs: number | undefined;
  readonly evidence: Evidence;
  /** The bursts that the evidence is about. */
  readonly seen: Bursts;
  /** Evidence about requests, where the objective names them. */
  readonly requests: RequestsMemory;
  readonly tightest: RequestKind | undefined;
  readonly mostStretch: number | undefined;
  readonly stepless: boolean;
  /** The state of the pacing of an engine: its steps and requests tell how often slices may come. */
  readonly pacing: PacingMemory;
  /** Its objective names requests, and the service does not tell how long they take. */
  readonly unheard: boolean;
  /** How a training gets on beside best-effort work, since it was last judged. */
  readonly progress: Pace;
  readonly load: Load;
  /** How much of its bursts it waits for the GPU. */
  readonly waits: Waits;
  /** Its objective is the one by default. */
  readonly gaps: boolean;
}

export interface Alone extends Progress {
  readonly seen: Bursts;
  readonly bursts: number;
  /** Empty unless it trains. */
  readonly pace: Pace;
}

interface Reference extends Progress {
  readonly p50Us: number;
  readonly p99Us: number;
  /** Median time for which bursts waited for the GPU. */
  readonly waitedP50Us: number;
  readonly waitedP99Us: number;
  readonly bursts: number;
  readonly pace: Pace;
}

/** The first bursts of a service are unlike all others, and do not count: so many, and of long bursts fewer. */
const WARM_UP = 50;
/** A burst of a training may be ten iterations. */
const WARM_UP_TRAINING = 3;

export const nothingAlone: Alone = { seen: noBursts, bursts: 0, ...noProgress, pace: noPace };

export const newClient = ({ objective, training = false, inSteps }: MeteredHigh): ClientMemory => ({
  objective,
  state: "learning",
  training,
  // Steps are recognised when there were some.
  bursts: inSteps ? WARM_UP : 0,
  shortestUs: Number.POSITIVE_INFINITY,
  reference: undefined,
  growing: nothingAlone,
  pausedAtMs: undefined,
  evidence: noEvidence,
  seen: noBursts,
  requests: nothingOfRequests,
  tightest: undefined,
  mostStretch: undefined,
  stepless: false,
  pacing: noPacing,
  unheard: false,
  progress: noPace,
  load: noLoad,
  waits: noWaits,
  gaps: false,
});

/**
 * After its objective changed. What was learned of the client itself stays: how long its bursts take alone, and how long its
 * requests take in steps. What was found about the former objective is forgotten.
 */
export const underNewObjective = (was: ClientMemory, client: MeteredHigh): ClientMemory => ({
  ...newClient(client),
  training: was.training,
  bursts: was.bursts,
  shortestUs: was.shortestUs,
  ...(was.gaps ? {} : { reference: was.reference, growing: was.growing }),
  load: was.load,
  waits: was.waits,
  pacing: withoutCorrection(was.pacing),
});

/** The `slowdown` of a training is about its throughput. */
export const isAboutThroughput = ({
  training,
  objective,
}: Pick<ClientMemory, "training" | "objective">): boolean =>
  training && objective?.slowdown !== undefined;

export const isAboutRequestsOnly = ({ objective }: Pick<MeteredHigh, "objective">): boolean =>
  objective?.requests !== undefined && !isAboutBursts(objective);

export const isAboutBursts = (objective: Objective | undefined): boolean =>
  objective?.p99Us !== undefined || objective?.slowdown !== undefined;

/** Limits of a client that does not train; undefined while they are not known. */
export const limitsFor = ({ objective, reference }: ClientMemory): Limits | undefined =>
  limitsOf(objective, reference);

export const isWarm = ({ bursts, shortestUs, training }: ClientMemory): boolean =>
  bursts >= (training ? WARM_UP_TRAINING : burstsThatTell(WARM_UP, shortestUs));

export const lacksReference = ({ objective, reference }: ClientMemory): boolean =>
  objective?.slowdown !== undefined && !reference;
