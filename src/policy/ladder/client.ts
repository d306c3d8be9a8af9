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
  readonly training: boolean;
  readonly bursts: number;
  readonly shortestUs: number;
  readonly reference: Reference | undefined;
  readonly growing: Alone; // it will become the next reference
  readonly pausedAtMs: number | undefined;
  readonly evidence: Evidence;
  readonly seen: Bursts;
  readonly requests: RequestsMemory;
  readonly tightest: RequestKind | undefined;
  readonly mostStretch: number | undefined;
  readonly stepless: boolean;
  readonly pacing: PacingMemory;
  readonly unheard: boolean;
  readonly progress: Pace;
  readonly load: Load;
  readonly waits: Waits;
  readonly gaps: boolean;
}

export interface Alone extends Progress {
  readonly seen: Bursts;
  readonly bursts: number;
  readonly pace: Pace; // it is empty unless it trains
}

interface Reference extends Progress {
  readonly p50Us: number;
  readonly p99Us: number;
  readonly waitedP50Us: number;
  readonly waitedP99Us: number;
  readonly bursts: number;
  readonly pace: Pace;
}

/** The first bursts of a service are unlike all others, and do not count. */
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

/** Solo times are facts of the client and stay; the rest was about the former objective. */
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

export const isAboutThroughput = ({
  training,
  objective,
}: Pick<ClientMemory, "training" | "objective">): boolean =>
  training && objective?.slowdown !== undefined;

export const isAboutRequestsOnly = ({ objective }: Pick<MeteredHigh, "objective">): boolean =>
  objective?.requests !== undefined && !isAboutBursts(objective);

export const isAboutBursts = (objective: Objective | undefined): boolean =>
  objective?.p99Us !== undefined || objective?.slowdown !== undefined;

export const limitsFor = ({ objective, reference }: ClientMemory): Limits | undefined =>
  limitsOf(objective, reference);

export const isWarm = ({ bursts, shortestUs, training }: ClientMemory): boolean =>
  bursts >= (training ? WARM_UP_TRAINING : burstsThatTell(WARM_UP, shortestUs));

export const lacksReference = ({ objective, reference }: ClientMemory): boolean =>
  objective?.slowdown !== undefined && !reference;
