// Measured pairs of a cluster, from what `kubectl get pairings,sharingreports,workloadprofiles -A -o json` prints.
import { type Field, readJson } from "#core";
import { type Features, isMetric } from "#predict";
import { badPairs } from "./errors.ts";

/** One measured pair: deploy/kubernetes has the schema. */
export interface ClusterPair {
  /** The same for rows of the same pair. */
  readonly key: string;
  /** NAMESPACE/NAME of the profile, else a hash of the programs. */
  readonly job: string;
  readonly service: string;
  readonly predicted: {
    readonly retained: number;
    /** Each bound is meant to hold in 90 % of pairs; undefined: it was not learned. */
    readonly retainedLow: number | undefined;
    readonly retainedHigh: number | undefined;
    /** Factor by which bursts or steps are longer, as it is measured; undefined: it was not learned. */
    readonly bursts:
      | { readonly slowdown: number; readonly low: number; readonly high: number | undefined }
      | undefined;
    readonly from: string;
  };
  /** Throughput of the job over all, divided by that alone. */
  readonly retained: number;
  /** `work` or `waits`: what `retained` is measured by. */
  readonly by: string;
  readonly seconds: number;
  /** Part of the time in which a request is served. */
  readonly load: number;
  /** Kernels and graphs that the job submitted a second, and while it had the GPU by itself; undefined: unknown. */
  readonly perS: number | undefined;
  readonly soloPerS: number | undefined;
  /** GPU time of the job's kernels a second while it has the GPU by itself; undefined: unknown. */
  readonly soloBusy: number | undefined;
  /** Median of the service's bursts or steps beside the job, divided by that alone; undefined: unknown. */
  readonly slowdown: number | undefined;
  /** POLICY-MODE. */
  readonly arrangement: string;
  readonly model: string;
  /** Number of other best-effort jobs on the GPU. */
  readonly others: number;
  /** Time of the last measurement. */
  readonly at: Date;
}

export interface ClusterObjects {
  readonly pairs: readonly ClusterPair[];
  /** Metrics of profiles, by NAMESPACE/NAME. */
  readonly profiles: ReadonlyMap<string, Features>;
}

/** Whether a JSON text is a list or an object of Kubernetes' API. */
export function isOfCluster(text: string): boolean {
  try {
    const { apiVersion, kind } = JSON.parse(text);
    return typeof apiVersion === "string" && typeof kind === "string";
  } catch {
    return false;
  }
}

/** Objects of other kinds are skipped. Throws a UserError that names file and field. */
export function readObjects(text: string, file: string): ClusterObjects {
  const whole = readJson(text, file, badPairs);
  const items = whole.at("items").missing ? [whole] : whole.at("items").list();
  const pairs: ClusterPair[] = [];
  const profiles = new Map<string, Features>();
  // The API server names the kind of a list's items in that of the list alone.
  const listed = whole.at("kind").text().replace(/List$/, "");
  for (const item of items) {
    const kind = item.at("kind").or(listed).value;
    if (kind === "Pairing") pairs.push(...pairingIn(item));
    if (kind === "SharingReport")
      for (const row of item.at("status").or({}).at("pairs").or([]).list())
        pairs.push(pairIn(row, row.at("pairing").text(), row, row.at("measured"), row.at("at")));
    if (kind === "WorkloadProfile") profiles.set(nameOf(item), featuresIn(item));
  }
  return { pairs, profiles };
}

/** Empty until it is measured, and for one of an older manager or node part. */
function pairingIn(item: Field): readonly ClusterPair[] {
  const spec = item.at("spec");
  const measured = item.at("status").or({}).at("measured").or({});
  const [names, pair] = [spec.at("names"), measured.at("pair")];
  if (names.missing || pair.missing) return [];
  return [pairIn(spec, item.at("metadata").at("uid").text(), names, pair, measured.at("at"))];
}

function pairIn(said: Field, uid: string, names: Field, pair: Field, at: Field): ClusterPair {
  const predicted = said.at("predicted");
  const others = pair.at("others").or(0).whole(0);
  const time = new Date(at.text());
  if (Number.isNaN(time.getTime())) throw at.not("a time");
  return {
    key: `${uid} ${others}`,
    job: workloadIn(names.at("job")),
    service: workloadIn(names.at("service")),
    predicted: {
      retained: predicted.at("retained").number(),
      retainedLow: predicted.at("retainedLow").optional((one) => one.number()),
      retainedHigh: predicted.at("retainedHigh").optional((one) => one.number()),
      bursts: predicted.at("bursts").optional((bursts) => ({
        slowdown: bursts.at("slowdown").number(),
        low: bursts.at("low").number(),
        high: bursts.at("high").optional((one) => one.number()),
      })),
      from: predicted.at("from").text(),
    },
    retained: pair.at("retained").number(),
    by: pair.at("by").text(),
    seconds: pair.at("seconds").number(),
    load: pair.at("load").ratio(),
    perS: pair.at("perS").optional((one) => one.number()),
    soloPerS: pair.at("soloPerS").optional((one) => one.number()),
    soloBusy: pair.at("soloBusy").optional((one) => one.number()),
    slowdown: pair
      .at("service")
      .optional((times) => times.at("p50Us").number() / times.at("soloP50Us").number({ above: 0 })),
    arrangement: `${pair.at("policy").text()}-${pair.at("mode").text()}`,
    model: pair.at("model").text(),
    ...{ others, at: time },
  };
}

const workloadIn = (names: Field): string =>
  names.at("profile").optional((one) => one.text()) ?? names.at("workload").text();

const nameOf = (item: Field): string => {
  const metadata = item.at("metadata");
  return `${metadata.at("namespace").text()}/${metadata.at("name").text()}`;
};

/** Metrics that no predictor knows are skipped. */
const featuresIn = (item: Field): Features =>
  Object.fromEntries(
    item
      .at("spec")
      .at("metrics")
      .entries()
      .flatMap(([name, value]) => (isMetric(name) ? [[name, value.number()]] : [])),
  );
