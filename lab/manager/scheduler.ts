// The manager's own decisions as a scheduler of the simulated cluster: `plan` sees what it would see of a real one, and what
// it claims is ordered. So matching and shares are tried on virtual time with the code that a cluster runs.
import type { JobView, Order, Scheduler, SchedulerKind, SeatView, View, Workload } from "#cluster";
import {
  type CarriedState,
  type Claim,
  type ClusterSnapshot,
  forecasts,
  type GpuNode,
  learning,
  type Node,
  names,
  type Pairing,
  type Pod,
  type PolicySpec,
  plan,
  policyOf,
  shareBeside,
  toldActiveShare,
  tries,
} from "#kubernetes";
import type { Predictor } from "#predict";

const NAMESPACE = "simulated";
/** A pair is predicted for a model, and the simulator's predictions are the same for all. */
const MODEL = "simulated";

/**
 * `policy`: what differs from the defaults. Only one job shares a GPU, as in MuxFlow. `profiled`: the workloads that have a
 * profile; of the others the manager knows the turn bound, and what was measured. By default all have one. `moveCosts`: the
 * workloads whose jobs may be moved, and what that costs one, s. By default all may, for what a start costs.
 */
export const managerScheduler = (
  policy: Partial<PolicySpec> = {},
  profiled?: ReadonlySet<string>,
  moveCosts?: ReadonlyMap<string, number>,
): SchedulerKind => ({
  name: "manager",
  summary: "what Cotenant's manager decides in a Kubernetes cluster",
  gangs: false,
  trigger: "once",
  make: () => schedulerBy({ ...policyOf([]), ...policy, podsPerGpu: 1 }, { profiled, moveCosts }),
});

/** Annotations of pods that simulated jobs lack. */
interface Annotations {
  readonly profiled: ReadonlySet<string> | undefined;
  readonly moveCosts: ReadonlyMap<string, number> | undefined;
}

function schedulerBy(policy: PolicySpec, said: Annotations): Scheduler {
  const memory: Memory = {
    ...{ learned: learning(), tried: tries(), matchedAt: new Map() },
    noted: { losing: new Map(), refused: new Map(), crowded: new Map(), sharers: new Map() },
  };
  /** The jobs that the manager matches or moves now. */
  const decided = (view: View, isRound: boolean): readonly Order[] => {
    const seen = seenIn(view, policy, memory, said);
    const seats = new Map(view.seats.map((seat) => [uuidOf(seat), seat]));
    const jobs = new Map(view.jobs.map((job) => [uidOf(job.index), job]));
    const { actions, noted } = plan(seen);
    // Between rounds the simulator shows no jobs that run.
    if (isRound) memory.noted = noted;
    let moves = Math.floor((policy.evictionsPerMinute * view.interval) / 60);
    return actions.flatMap((action): readonly Order[] => {
      if (action.kind !== "claim" && action.kind !== "move") return [];
      if (action.kind === "move" && moves-- <= 0) return [];
      const job = jobs.get(action.pod.metadata.uid);
      const seat = seats.get(action.gpu);
      if (job === undefined || seat === undefined) return [];
      memory.matchedAt.set(job.index, view.now);
      return [{ job: job.index, seats: [seat.index], share: shareOn(seat) }];
    });
  };
  return {
    mechanism: "space",
    protects: true,
    plan(view) {
      const orders = new Map<number, Order>();
      for (const { index, placed } of view.jobs)
        if (placed) orders.set(index, { job: index, seats: placed.seats, share: placed.share });
      for (const order of decided(view, true)) orders.set(order.job, order);
      return [...orders.values()];
    },
    fill: (view) => decided(view, false),
    adjust: shareOn,
  };
}

/** The manager's notes from earlier intervals. */
interface Memory {
  readonly learned: ReturnType<typeof learning>;
  readonly tried: ReturnType<typeof tries>;
  noted: CarriedState;
  /** When a job got its GPU, s. */
  readonly matchedAt: Map<number, number>;
}

const shareOn = (seat: SeatView): number => shareBeside(activeShareOf(seat), 1);

const activeShareOf = ({ load }: SeatView): number => toldActiveShare(load);

const uidOf = (job: number): string => `job-${job}`;
const uuidOf = ({ index }: SeatView): string => `GPU-${index}`;
const serviceOf = ({ index }: SeatView): string => `service-${index}`;

const metadata = (name: string, said: Record<string, string> = {}, created = 0) => ({
  ...{ name, namespace: NAMESPACE, uid: name, resourceVersion: "1", annotations: said },
  creationTimestamp: new Date(created).toISOString(),
});

function seenIn(
  view: View,
  policy: PolicySpec,
  { learned, tried, noted, matchedAt }: Memory,
  { profiled, moveCosts }: Annotations,
): ClusterSnapshot {
  const now = view.now * 1000;
  // The simulator writes a checkpoint before it moves a job.
  const costOf = ({ name }: Workload) => (moveCosts ? moveCosts.get(name) : view.restart);
  const hasProfile = (name: string) => profiled?.has(name) ?? true;
  const workloads = [
    ...new Set([
      ...view.seats.flatMap(({ online }) => online ?? []),
      ...view.jobs.map(({ workload }) => workload),
    ]),
  ];
  const known = forecasts(
    predictorOf(view, workloads),
    workloads.flatMap(({ name }, place) =>
      !hasProfile(name)
        ? []
        : [{ metadata: metadata(name), spec: { gpu: MODEL, metrics: { [PLACE]: place } } }],
    ),
    learned,
  );
  const jobs = view.jobs.map((job) =>
    jobPod(job, hasProfile(job.workload.name), costOf(job.workload)),
  );
  const pods = [...view.seats.map(servicePod), ...jobs];
  const byUid = new Map(pods.map((pod) => [pod.metadata.uid, pod]));
  const pairings = [...pairingsIn(view, byUid, known)];
  for (const pairing of pairings) {
    const service = byUid.get(pairing.spec.service);
    const job = byUid.get(pairing.spec.pod);
    if (service && job) learned.observe(pairing, known.profileOf(service), known.profileOf(job));
  }
  const seen = {
    ...{ now, wallNow: now, pods, forecasts: known, pairings, ...noted, kept: [] },
    // Services of a simulation have run for ever.
    policy: { ...policy, intervalSeconds: view.interval, serviceAgeSeconds: 0 },
    namespaces: [{ metadata: metadata(NAMESPACE) }],
    claims: view.seats.flatMap((seat) => claimsOn(seat, matchedAt)),
    nodes: view.seats.map(nodeOf),
    gpuNodes: view.seats.map(gpuNodeOf),
    heardAt: () => now,
    avoided: () => [],
    failedOn: () => [],
    refusal: () => undefined,
    serviceBytes: () => undefined,
    slowed: () => [],
    volumeDemand: () => ({ places: [], problem: undefined }),
  };
  tried.observe(seen);
  return { ...seen, trials: tried.of };
}

const servicePod = (seat: SeatView): Pod => ({
  metadata: {
    ...metadata(serviceOf(seat), {
      [names.CLASS_ANNOTATION]: "high",
      [names.PROFILE_ANNOTATION]: seat.online?.name ?? "",
    }),
    ownerReferences: [{ uid: `service ${seat.online?.name}`, controller: true }],
  },
  spec: { nodeName: uuidOf(seat) },
  status: { phase: seat.online === undefined ? "Pending" : "Running" },
});

const jobPod = (
  { index, workload, submitted, priority, placed }: JobView,
  hasProfile: boolean,
  moveCost: number | undefined,
): Pod => ({
  metadata: metadata(
    uidOf(index),
    {
      [names.CLASS_ANNOTATION]: "best-effort",
      [names.MEMORY_ANNOTATION]: memoryOf(workload),
      ...(moveCost !== undefined && {
        [names.MOVE_COST_ANNOTATION]: `${Math.max(1, Math.ceil(moveCost))}s`,
      }),
      ...(hasProfile && { [names.PROFILE_ANNOTATION]: workload.name }),
    },
    submitted * 1000,
  ),
  spec: {
    priority,
    containers: [{ image: workload.name }],
    ...(placed
      ? { nodeName: `GPU-${placed.seats[0]}` }
      : { schedulingGates: [{ name: names.MATCH_GATE }] }),
    resourceClaims: [{ name: "cotenant", resourceClaimName: uidOf(index) }],
  },
  status: { phase: placed ? "Running" : "Pending" },
});

const memoryOf = ({ memoryGB }: Workload): string => `${Math.max(1, Math.ceil(memoryGB * 1024))}Mi`;

const claimsOn = (seat: SeatView, matchedAt: Memory["matchedAt"]): readonly Claim[] =>
  seat.jobs.map((job) => ({
    metadata: metadata(uidOf(job), {
      [names.GPU_ANNOTATION]: uuidOf(seat),
      [names.MATCHED_AT_ANNOTATION]: new Date(1000 * (matchedAt.get(job) ?? 0)).toISOString(),
    }),
    spec: {},
    status: { allocation: {} },
  }));

/** One for each GPU: what else a node's pods share is not simulated. */
const nodeOf = (seat: SeatView): Node => ({
  metadata: metadata(uuidOf(seat)),
  spec: {},
  status: {
    conditions: [{ type: "Ready", status: "True" }],
    allocatable: { cpu: "64", memory: "512Gi", pods: "110" },
  },
});

const gpuNodeOf = (seat: SeatView): GpuNode => ({
  metadata: metadata(uuidOf(seat)),
  status: {
    observedAt: "",
    gpus: [
      {
        ...{ uuid: uuidOf(seat), model: MODEL, healthy: seat.healthy, slots: 1 },
        ...{ memoryBytes: seat.freeMemoryGB * 2 ** 30, activeShare: activeShareOf(seat) },
        podUid: serviceOf(seat),
      },
    ],
  },
});

/** Measurements of the pairs that run, as nodes report them. */
function* pairingsIn(
  view: View,
  pods: ReadonlyMap<string, Pod>,
  known: ClusterSnapshot["forecasts"],
): Iterable<Pairing> {
  for (const { index, placed } of view.jobs) {
    const seat = view.seats[placed?.seats[0] ?? -1];
    const [pod, service] = [pods.get(uidOf(index)), seat && pods.get(serviceOf(seat))];
    if (!seat || !pod || !service || placed?.retained === undefined) continue;
    const activeShare = activeShareOf(seat);
    const predicted = known.of(
      known.profileOf(service),
      known.profileOf(pod),
      { model: MODEL, activeShare },
      0,
    );
    yield {
      metadata: metadata(uidOf(index)),
      spec: {
        ...{ pod: uidOf(index), service: serviceOf(seat), node: uuidOf(seat), gpu: uuidOf(seat) },
        ...{ share: placed.share, predicted },
      },
      status: { measured: { retained: placed.retained } },
    };
  }
}

/** The one metric of a simulated profile: by it the workload is found again. Two may be alike in all others. */
const PLACE = "smBusy";

/** The simulator's forecasts: beside each other with all SMs. */
const predictorOf = ({ predictions }: View, workloads: readonly Workload[]): Predictor => ({
  predict({ [PLACE]: place = -1 }, [{ [PLACE]: other = -1 } = {}]) {
    const [one, beside] = [workloads[place], workloads[other]];
    if (!one || !beside) throw new Error("no profile of a simulated workload");
    const retained =
      one.role === "offline"
        ? predictions.offline(beside, one, 1)
        : predictions.online(one, beside, 1);
    return { retained, uncertainty: 0, low: retained, high: retained, familiar: true };
  },
});
