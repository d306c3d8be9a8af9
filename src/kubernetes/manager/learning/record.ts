// The summary outlives a manager and is for people; rows are read once from the SharingReports.
import type { Api } from "../../api/client.ts";
import { SYSTEM_NAMESPACE } from "../../labels/names.ts";
import type { SharingReport } from "../worth/reports.ts";
import type { LearningSummary, PairLearner } from "./learner.ts";

const PATH = `/api/v1/namespaces/${SYSTEM_NAMESPACE}/configmaps/cotenant-forecasts`;
const KEY = "forecasts.json";

interface ConfigMap {
  readonly metadata: object;
  readonly data?: Readonly<Record<string, string>>;
}

export interface MatchCounts {
  readonly matches: number;
  readonly explored: number;
}

export interface ForecastRecord extends MatchCounts {
  readonly learned: readonly LearningSummary[];
}

export const emptyRecord: ForecastRecord = { matches: 0, explored: 0, learned: [] };

type ReportRows = Required<Pick<SharingReport["status"], "pairs" | "workloads">>;

/** Rejects with an ApiError when the API server refuses. */
export async function readRecord(api: Api): Promise<ForecastRecord> {
  return recordIn((await api.find<ConfigMap>(PATH))?.data?.[KEY]);
}

export async function writeRecord(api: Api, record: ForecastRecord): Promise<void> {
  const found = await api.find<ConfigMap>(PATH);
  if (found) await api.replace(PATH, { ...found, data: { [KEY]: JSON.stringify(record) } });
}

export async function readRows(api: Api, learner: PairLearner): Promise<void> {
  // Reports are reduced to rows as they come: 26 weeks of each namespace would be much memory.
  const { items } = await api.list<SharingReport, ReportRows>(
    "/apis/cotenant.io/v1alpha1/sharingreports",
    ({ status }) => ({ pairs: status?.pairs ?? [], workloads: status?.workloads ?? [] }),
  );
  for (const { pairs, workloads } of items) {
    learner.add(pairs);
    learner.demands.recall(workloads);
  }
}

/** A text that can't be read counts as empty, because somebody may have changed the object. */
export function recordIn(text: string | undefined): ForecastRecord {
  try {
    const { matches, explored, learned } = JSON.parse(text ?? "{}") as Partial<ForecastRecord>;
    const count = (n: unknown) => (typeof n === "number" && n >= 0 ? n : 0);
    return {
      ...{ matches: count(matches), explored: count(explored) },
      learned: Array.isArray(learned) ? learned.filter(isSummary) : [],
    };
  } catch {
    return emptyRecord;
  }
}

const isSummary = (one: Partial<LearningSummary> | null): one is LearningSummary =>
  typeof one?.gpu === "string" && isFigure(one.retained) && isFigure(one.slowdown);

const isFigure = (one: Partial<LearningSummary["retained"]> | undefined): boolean =>
  ["prior", "rule", "model"].includes(one?.by ?? "") &&
  typeof one?.pairs === "number" &&
  typeof one.wins === "number";
