// A cluster as it is now, as a scenario of the simulator: its GPUs, its services with their load, and its best-effort pods
// as jobs. So a policy can be tried before it is switched on.
import {
  type Api,
  claimNameIn,
  type GpuNode,
  isBestEffort,
  keptPod,
  moveCostSeconds,
  names,
  type Pairing,
  type Pod,
  type PolicySpec,
  policyOf,
  type SharingPolicy,
  type SharingReport,
  type WorkloadProfile,
  workloadOf as workloadOfKept,
} from "#kubernetes";
import { demandsOf, type MeasuredDemand } from "./demands.ts";

const { CLASS_ANNOTATION, PROFILE_ANNOTATION } = names;
const COTENANT = "/apis/cotenant.io/v1alpha1";
const GIB = 2 ** 30;
/** Assumptions about workloads without a profile, where nothing was measured either. */
const ASSUMED = { requestMs: 10, memoryGB: 4, busy: 0.9, memoryBusy: 0.4 };
/** Assumed length of jobs while none has ended. */
const ASSUMED_SECONDS = 3600;
/** The file of jobs, as the scenario names it. */
export const JOBS_FILE = "jobs.csv";

/** The scenario, as a JSON file has it, and the text of JOBS_FILE. `about` says what was assumed. */
export interface ExportedCluster {
  readonly scenario: object;
  readonly jobs: string;
  /** The cluster's own, as if it were switched on. */
  readonly policy: PolicySpec;
  /** The workloads of the scenario that have a WorkloadProfile. */
  readonly profiled: ReadonlySet<string>;
  /** The workloads of the scenario whose pods may be moved, and what that costs one, s. */
  readonly moveCosts: ReadonlyMap<string, number>;
}

interface EndingPod extends Pod {
  readonly status: Pod["status"] & {
    readonly startTime?: string;
    readonly containerStatuses?: readonly {
      readonly state?: { readonly terminated?: { readonly finishedAt?: string } };
    }[];
  };
}

/** `wallNow`: ms since 1970. Rejects with an ApiError when the API server refuses; undefined where there is no service or job. */
export async function scenarioOf(api: Api, wallNow: number): Promise<ExportedCluster | undefined> {
  const [pods, gpuNodes, profiles, pairings, policies, reports] = await Promise.all([
    api.list<EndingPod>("/api/v1/pods"),
    api.list<GpuNode>(`${COTENANT}/gpunodes`),
    api.list<WorkloadProfile>(`${COTENANT}/workloadprofiles`),
    api.list<Pairing>(`${COTENANT}/pairings`),
    api.list<SharingPolicy>(`${COTENANT}/sharingpolicies`),
    api.list<SharingReport>(`${COTENANT}/sharingreports`),
  ]);
  const gpus = gpuNodes.items.flatMap(({ status }) => status?.gpus ?? []);
  const byUid = new Map(pods.items.map((pod) => [pod.metadata.uid, pod]));
  const named = new Map(
    profiles.items.map((one) => [`${one.metadata.namespace}/${one.metadata.name}`, one]),
  );
  const services = new Map<string, { pod: Pod; shares: number[] }>();
  for (const { podUid = "", activeShare } of gpus) {
    const pod = byUid.get(podUid);
    if (pod?.metadata.annotations?.[CLASS_ANNOTATION] !== "high") continue;
    const name = workloadOf(pod);
    const service = services.get(name) ?? { pod, shares: [] };
    service.shares.push(activeShare);
    services.set(name, service);
  }
  const jobs = pods.items.filter(isBestEffort);
  if (services.size === 0 || jobs.length === 0) return undefined;
  const trainings = new Map(jobs.map((pod) => [workloadOf(pod), pod]));
  const demands = demandsOf(pairings.items, reports.items);
  const demandOf = (pod: Pod) => demands.get(hashOf(pod)) ?? {};
  const describe = (pod: Pod, name: string) =>
    described(name, named.get(profileOf(pod)), demandOf(pod));
  const { rows, hours, assumed } = traceOf(jobs, pairings.items, wallNow);
  const all = [...[...services].map(([name, { pod }]) => [name, pod] as const), ...trainings];
  const profiled = new Set(all.flatMap(([name, pod]) => (named.has(profileOf(pod)) ? [name] : [])));
  const unprofiled = all.filter(([name]) => !profiled.has(name));
  const measured = unprofiled.filter(([, pod]) => demands.has(hashOf(pod)));
  return {
    jobs: ["submitted,seconds,workload,name", ...rows].join("\n"),
    profiled,
    moveCosts: new Map(
      [...trainings].flatMap(([name, pod]): readonly [string, number][] => {
        const seconds = moveCostSeconds(pod);
        return seconds === undefined ? [] : [[name, seconds]];
      }),
    ),
    policy: { ...policyOf(policies.items), paused: false, dryRun: false, drain: false },
    scenario: {
      about: [
        "A cluster as it was when it was exported. Services keep the load of that moment all day.",
        ...(unprofiled.length > 0
          ? [
              `${unprofiled.length} workloads have no WorkloadProfile: busy shares, durations and memory of ${measured.length} were measured as far as nodes have seen them, and the rest is assumed.`,
            ]
          : []),
        ...(assumed > 0 ? [`${assumed} jobs had not ended: how long they run is assumed.`] : []),
      ].join(" "),
      hours: Math.max(24, Math.ceil(hours)),
      gpus: [...countBy(gpus, ({ model }) => model)].map(([type, same]) => ({
        type,
        count: same.length,
        memoryGB: Math.max(1, ...same.map(({ memoryBytes }) => Math.round(memoryBytes / GIB))),
      })),
      workloads: [
        ...[...services].map(([name, { pod }]) => ({
          ...describe(pod, name),
          requestMs: requestMsOf(named.get(profileOf(pod)), demandOf(pod)),
        })),
        ...[...trainings].map(([name, pod]) => describe(pod, name)),
      ],
      services: [...services].map(([workload, { shares }]) => {
        const load = Math.min(
          1,
          Math.max(0.001, shares.reduce((sum, one) => sum + one, 0) / shares.length),
        );
        return { workload, gpus: shares.length, load: { low: load, high: load } };
      }),
      jobs: {
        workloads: [...trainings.keys()],
        trace: { format: "csv", file: JOBS_FILE },
        gpus: "one",
      },
      schedulers: ["online-only", "muxflow", "cotenant"],
    },
  };
}

/** Name of the pod's workload in Pairings and reports, which is made of what the manager keeps of a pod. */
const hashOf = (pod: Pod): string => workloadOfKept(keptPod(pod));

/** Pods of one profile, else of one controller, are one workload. */
function workloadOf({ metadata }: Pod): string {
  const profile = metadata.annotations?.[PROFILE_ANNOTATION];
  const itsClass = metadata.annotations?.[CLASS_ANNOTATION];
  const owner = metadata.ownerReferences?.find(({ controller }) => controller);
  const kind = itsClass === "high" ? "service" : "job";
  return `${metadata.namespace}/${profile ?? owner?.name ?? metadata.name} (${kind})`;
}

const profileOf = ({ metadata }: Pod): string =>
  `${metadata.namespace}/${metadata.annotations?.[PROFILE_ANNOTATION] ?? ""}`;

/** Metrics of predictors are in percent where the simulator has parts. */
function described(name: string, profile: WorkloadProfile | undefined, demand: MeasuredDemand) {
  const { smBusy, memoryBusy, memoryGB, smsFilled } = profile?.spec.metrics ?? {};
  const part = (n: number | undefined, otherwise: number) =>
    n === undefined ? otherwise : Math.min(1, Math.max(0.01, n));
  return {
    name,
    memoryGB: memoryGB ?? (demand.memoryBytes ? demand.memoryBytes / GIB : ASSUMED.memoryGB),
    busy: part(smBusy && smBusy / 100, part(demand.busy, ASSUMED.busy)),
    memoryBusy: part(memoryBusy && memoryBusy / 100, ASSUMED.memoryBusy),
    smNeed: part(smsFilled, 1),
  };
}

function requestMsOf(profile: WorkloadProfile | undefined, { requestMs }: MeasuredDemand): number {
  const { soloThroughput } = profile?.spec.metrics ?? {};
  return soloThroughput ? 1000 / soloThroughput : (requestMs ?? ASSUMED.requestMs);
}

/** One row a job, from the first that was submitted on. */
function traceOf(jobs: readonly EndingPod[], pairings: readonly Pairing[], wallNow: number) {
  const retained = new Map(
    pairings.map(({ metadata, spec, status }) => [
      `${metadata.namespace}/${metadata.name}`,
      status?.measured?.retained ?? spec.predicted.retained,
    ]),
  );
  const alone = (pod: EndingPod, seconds: number) =>
    seconds * (retained.get(`${pod.metadata.namespace}/${claimNameIn(pod)}`) ?? 1);
  const ended = jobs.flatMap((pod) => {
    const [status] = pod.status.containerStatuses ?? [];
    const end = Date.parse(status?.state?.terminated?.finishedAt ?? "");
    const seconds = (end - Date.parse(pod.status.startTime ?? "")) / 1000;
    return seconds > 0 ? [{ pod, seconds: alone(pod, seconds) }] : [];
  });
  const lengths = new Map(ended.map(({ pod, seconds }) => [pod, seconds]));
  const sorted = ended.map(({ seconds }) => seconds).sort((a, b) => a - b);
  const usual = sorted[Math.floor(sorted.length / 2)] ?? ASSUMED_SECONDS;
  const submitted = jobs.map(({ metadata }) => Date.parse(metadata.creationTimestamp) / 1000);
  const first = submitted.reduce((least, one) => Math.min(least, one), wallNow / 1000);
  const rows = jobs.map((pod, i) => {
    const ran = alone(pod, (wallNow - Date.parse(pod.status.startTime ?? "")) / 1000);
    const seconds = lengths.get(pod) ?? Math.max(usual, Number.isFinite(ran) ? ran : 0);
    const name = `${pod.metadata.namespace}/${pod.metadata.name}`;
    return `${(submitted[i] ?? first) - first},${Math.max(1, Math.round(seconds))},${workloadOf(pod)},${name}`;
  });
  return { rows, hours: (wallNow / 1000 - first) / 3600, assumed: jobs.length - ended.length };
}

function countBy<T>(
  all: readonly T[],
  keyOf: (one: T) => string,
): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const one of all) groups.set(keyOf(one), [...(groups.get(keyOf(one)) ?? []), one]);
  return groups;
}
