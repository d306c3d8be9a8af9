// Records of suites that passed, outside the repository: a lost record costs time only.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

export interface Pass {
  /** `Inputs.hash` of the suite (inputs.ts). */
  readonly hash: string;
  readonly commit: string;
  /** ISO 8601. */
  readonly at: string;
  readonly seconds: number;
  readonly tests: number;
}

export interface SuiteRecord {
  /** Newest first. */
  readonly passes: readonly Pass[];
  /** Input files of the newest pass, with the hashes of their content. */
  readonly files: Readonly<Record<string, string>>;
}

export interface FullRun {
  readonly commit: string;
  /** ISO 8601. */
  readonly at: string;
}

/** Enough for every branch that is worked on at a time. */
const MAX_PASSES = 50;

/**
 * The folders of records. The first one decides what runs: $COTENANT_CI_RECORDS, else $XDG_CACHE_HOME/cotenant/ci, by
 * default below ~/.cache. Passes are noted in all, because a release's pass counts for other runs.
 */
export const recordFolders = (): readonly [string, ...string[]] => {
  const usual = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "cotenant/ci");
  const own = process.env.COTENANT_CI_RECORDS;
  return own ? [own, usual] : [usual];
};

/** The records in one folder, which is made when something is written. */
export class Records {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Returns the record of a suite; undefined: it has never passed here.
   *
   * @throws Error naming the file, if it can't be read
   */
  suite(name: string): SuiteRecord | undefined {
    return this.#read(`${name}.json`, (value: SuiteRecord) => {
      const passes = value.passes.every((one) => typeof one.hash === "string" && !!one.commit);
      return passes && typeof value.files === "object" && value.files !== null;
    });
  }

  /**
   * Returns the newest run of all suites; undefined: there was none here.
   *
   * @throws Error naming the file, if it can't be read
   */
  fullRun(): FullRun | undefined {
    return this.#read("full-run.json", (value: FullRun) => typeof value.commit === "string");
  }

  /** Adds a pass, with the input files that it depends on. */
  add(name: string, pass: Pass, files: ReadonlyMap<string, string>): void {
    const earlier = this.#orNothing(() => this.suite(name))?.passes ?? [];
    const others = earlier.filter(({ hash }) => hash !== pass.hash);
    const record: SuiteRecord = {
      passes: [pass, ...others].slice(0, MAX_PASSES),
      files: Object.fromEntries(files),
    };
    this.#write(`${name}.json`, record);
  }

  /**
   * Forgets all passes and notes a run of all suites, which so needs no end: what it has not passed runs the next time.
   *
   * @param suites their names
   */
  beginFullRun(run: FullRun, suites: readonly string[]): void {
    for (const name of suites) {
      const record = this.#orNothing(() => this.suite(name));
      if (record) this.#write(`${name}.json`, { ...record, passes: [] });
    }
    this.setFullRun(run);
  }

  setFullRun(run: FullRun): void {
    this.#write("full-run.json", run);
  }

  #read<T>(name: string, isValid: (value: T) => boolean): T | undefined {
    const path = join(this.#folder, name);
    if (!existsSync(path)) return undefined;
    try {
      const value: T = JSON.parse(readFileSync(path, "utf8"));
      if (isValid(value)) return value;
    } catch {
      // The error below names the file, as for text that is no record.
    }
    throw new Error(`${path} can't be read as a record of CI: all suites run, and write it again.`);
  }

  /** A damaged record is replaced. */
  #orNothing<T>(read: () => T | undefined): T | undefined {
    try {
      return read();
    } catch {
      return undefined;
    }
  }

  /** By a rename: a run that is killed leaves no half of a record. */
  #write(name: string, value: unknown): void {
    mkdirSync(this.#folder, { recursive: true });
    const path = join(this.#folder, name);
    const temporary = `${path}.${process.pid}`;
    writeFileSync(temporary, JSON.stringify(value));
    renameSync(temporary, path);
  }
}
