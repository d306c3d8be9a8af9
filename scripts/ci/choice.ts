// Chooses the suites that run, and gives the reason for each.
import type { Inputs } from "./inputs.ts";
import type { FullRun, Pass, Records, SuiteRecord } from "./record.ts";

/** After this many commits since the newest run of all suites, all run again. */
export const MAX_COMMITS = 20;

interface Decision {
  readonly inputs: Inputs;
  readonly runs: boolean;
  /** One clause, which follows a colon. */
  readonly reason: string;
}

export interface Choice {
  /** The reason why all suites run; undefined: they are chosen by content. */
  readonly all: string | undefined;
  readonly suites: readonly Decision[];
}

/** Facts about the clone, from git. */
export interface History {
  readonly shallow: boolean;
  /** Commits that HEAD has and `commit` has not; undefined: the clone lacks `commit`. */
  commitsSince(commit: string): number | undefined;
}

/**
 * Chooses among suites by their inputs.
 *
 * @param requested the reason why the caller wants all suites; undefined: chosen by content
 */
export function choose(
  all: readonly Inputs[],
  records: Records,
  history: History,
  requested: string | undefined,
): Choice {
  let why = requested;
  const attempt = <T>(read: () => T): T | undefined => {
    try {
      return read();
    } catch (error) {
      why ??= (error as Error).message;
      return undefined;
    }
  };
  const fullRun = attempt(() => records.fullRun());
  const known = all.map((inputs) => attempt(() => records.suite(inputs.suite.name)));
  why ??= whyAll(fullRun, history);
  return {
    all: why,
    suites: all.map((inputs, index) => {
      if (why !== undefined) return { inputs, runs: true, reason: "all suites run" };
      const record = known[index];
      const pass = record?.passes.find(({ hash }) => hash === inputs.hash);
      if (inputs.suite.always) return { inputs, runs: true, reason: "it always runs" };
      if (pass) return { inputs, runs: false, reason: passedText(pass) };
      return { inputs, runs: true, reason: changed(inputs, record) };
    }),
  };
}

function whyAll(fullRun: FullRun | undefined, history: History): string | undefined {
  if (!fullRun) return "no run of all suites is recorded here";
  if (history.shallow) return "a shallow clone does not show how many commits there were since";
  const commits = history.commitsSince(fullRun.commit);
  if (commits === undefined)
    return `this clone lacks ${short(fullRun.commit)}, the commit of the newest run of all suites`;
  return commits >= MAX_COMMITS
    ? `${commits} commits since the newest run of all suites, and the limit is ${MAX_COMMITS}`
    : undefined;
}

const passedText = ({ at, commit, tests }: Pass): string =>
  `the same inputs passed on ${at.slice(0, 16).replace("T", " ")} UTC at ${short(commit)}${
    tests > 0 ? ` (${tests} tests)` : ""
  }`;

function changed({ files }: Inputs, record: SuiteRecord | undefined): string {
  if (!record) return "it has not passed here";
  if (record.passes.length === 0) return "it has not passed since a run of all suites began";
  const paths = new Set([...files.keys(), ...Object.keys(record.files)]);
  const differing = [...paths].filter((path) => files.get(path) !== record.files[path]);
  const [first, ...others] = differing;
  if (first === undefined) return "its definition or the machine's tools changed";
  return `${first}${others.length > 0 ? ` and ${others.length} more` : ""} changed`;
}

const short = (commit: string): string => commit.slice(0, 10);
