import { type CsvRow, csvRows } from "#core";
import { badProfile } from "../model/errors.ts";
import type { Dim3 } from "../model/types.ts";

export function readLaunches(text: string, file: string): readonly LaunchRow[] {
  const rows = csvRows(text.replace(/^\uFEFF/, ""));
  const at = rows.findIndex(({ fields }) => fields.includes("Kernel Name"));
  const header = rows[at];
  if (!header)
    throw badProfile(
      file,
      "",
      'it is no CSV of Nsight Compute: no line has a column "Kernel Name".',
      'Record it with "ncu --csv --page raw".',
    );
  const body = rows.slice(at + 1).filter(({ fields: [first = ""] }) => !first.startsWith("=="));
  const long = header.fields.includes("Metric Name");
  const fewest = header.fields.length - (long ? RULE_COLUMNS : 0);
  for (const { line, fields } of body)
    if (fields.length > header.fields.length || fields.length < fewest)
      throw badProfile(
        file,
        `line ${line}`,
        `it has ${fields.length} fields where the header has ${header.fields.length}: cut short?`,
      );
  return long ? rowPerMetric(file, header.fields, body) : rowPerLaunch(file, header.fields, body);
}

/** ncu leaves some columns about rules off at the end of a metric's row. */
const RULE_COLUMNS = 5;

function rowPerLaunch(file: string, header: readonly string[], body: readonly CsvRow[]) {
  const units = body.find(({ fields }) => fields[header.indexOf("Kernel Name")] === "")?.fields;
  return body
    .filter(({ fields }) => fields !== units)
    .map(({ line, fields }) => {
      const said = header.map((name, i): [string, KernelRow[]] => [
        name,
        [{ line, unit: units?.[i] ?? "", value: fields[i] ?? "" }],
      ]);
      return new LaunchRow(file, line, new Map(said));
    });
}

function rowPerMetric(file: string, header: readonly string[], body: readonly CsvRow[]) {
  const [id, metric, unit, value] = ["ID", "Metric Name", "Metric Unit", "Metric Value"].map(
    (name) => header.indexOf(name),
  );
  const launches = new Map<string, { line: number; said: Map<string, KernelRow[]> }>();
  for (const { line, fields } of body) {
    const at = (column = -1) => fields[column] ?? "";
    let launch = launches.get(at(id));
    if (!launch) {
      const columns = header.map((name, i): [string, KernelRow[]] => [
        name,
        [{ line, unit: "", value: at(i) }],
      ]);
      launch = { line, said: new Map(columns) };
      launches.set(at(id), launch);
    }
    // Besides the column, page details has a metric Grid Size, which is the number of blocks.
    if (header.includes(at(metric))) continue;
    const said = { line, unit: at(unit), value: at(value) };
    launch.said.set(at(metric), [...(launch.said.get(at(metric)) ?? []), said]);
  }
  return [...launches.values()].map(({ line, said }) => new LaunchRow(file, line, said));
}

type Wanted = "ns" | "bytes" | "ratio" | "hz" | "count" | "any";

interface KernelRow {
  readonly line: number;
  readonly unit: string;
  readonly value: string;
}

export class LaunchRow {
  readonly line: number;
  readonly #file: string;
  /** A metric may appear twice in different units, such as Memory Throughput. */
  readonly #said: ReadonlyMap<string, readonly KernelRow[]>;

  constructor(file: string, line: number, said: ReadonlyMap<string, readonly KernelRow[]>) {
    this.#file = file;
    this.line = line;
    this.#said = said;
  }

  lacks(what: string) {
    return badProfile(this.#file, `line ${this.line}`, `the launch lacks ${what}.`);
  }

  says(metric: string): KernelRow | undefined {
    return this.#said.get(metric)?.find(({ value }) => value !== "");
  }

  text(metric: string): string {
    const said = this.says(metric);
    if (!said) throw this.lacks(`"${metric}"`);
    return said.value;
  }

  number(names: readonly string[], wanted: Wanted): number | undefined {
    for (const name of names)
      for (const said of this.#said.get(name) ?? []) {
        const factor = factorOf(said.unit, wanted);
        if (factor === undefined || isMissing(said.value)) continue;
        const value = Number(said.value.replaceAll(",", "")) * factor;
        if (value >= 0 && value < Number.POSITIVE_INFINITY) return tidy(value, wanted);
        throw badProfile(
          this.#file,
          `line ${said.line}`,
          `${name} is ${JSON.stringify(said.value)}, not a number.`,
        );
      }
    return undefined;
  }

  largest(fitting: RegExp, wanted: Wanted): number | undefined {
    const all = [...this.#said.keys()]
      .filter((name) => fitting.test(name))
      .flatMap((name) => this.number([name], wanted) ?? []);
    return all.length > 0 ? Math.max(...all) : undefined;
  }

  and(other: LaunchRow): LaunchRow {
    return new LaunchRow(this.#file, this.line, new Map([...other.#said, ...this.#said]));
  }

  /** "(128, 2, 1)" may have a column of its own, or be three metrics. */
  shape(column: string, metric: string): Dim3 {
    const said = this.#said.get(column)?.[0];
    const match = /^\(?\s*(\d+),\s*(\d+),\s*(\d+)\s*\)?$/.exec(said?.value ?? "");
    const shape = match
      ? match.slice(1).map(Number)
      : ["x", "y", "z"].map((axis) => this.number([`${metric}_${axis}`], "any"));
    const [x = 0, y = 0, z = 0] = shape;
    if (x * y * z >= 1) return [x, y, z];
    if (said)
      throw badProfile(
        this.#file,
        `line ${said.line}`,
        `${column} is "${said.value}", not three sizes such as (128, 1, 1).`,
      );
    throw this.lacks(`"${column}"`);
  }
}

/** 65.536 Kbyte are whole bytes. A hit rate just above 100 % is from counting in several passes. */
function tidy(value: number, wanted: Wanted): number {
  if (wanted === "ratio") return Math.min(Math.round(value * 1e6) / 1e6, 1);
  return wanted === "ns" || wanted === "bytes" ? Math.round(value) : value;
}

const isMissing = (value: string) => value === "" || /n\/a/i.test(value);

/** undefined if a number in this unit is of another kind. Nsight Compute's kilo is 1,000. */
function factorOf(unit: string, wanted: Wanted): number | undefined {
  switch (wanted) {
    case "ns":
      return { ns: 1, us: 1e3, ms: 1e6, s: 1e9 }[unit.replace(/second$/, "s").replace("sec", "s")];
    case "bytes": {
      const match = /^([KMGT]?)byte(\/block)?$/i.exec(unit);
      return match ? prefix(match[1]) : undefined;
    }
    case "hz": {
      const match = /^([KMG]?)hz$/i.exec(unit);
      if (match) return prefix(match[1]);
      return { "cycle/second": 1, "cycle/usecond": 1e6, "cycle/nsecond": 1e9 }[unit];
    }
    case "ratio":
      return unit === "%" ? 0.01 : undefined;
    case "count":
    case "any":
      return 1;
  }
}

const prefix = (letter = ""): number =>
  ({ "": 1, K: 1e3, M: 1e6, G: 1e9, T: 1e12 })[letter.toUpperCase()] ?? 1;
