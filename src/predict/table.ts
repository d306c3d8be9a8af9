// A file of measured colocations, and of what their workloads look like alone.
//
//     { "version": 1, "source": "where and how it was measured",
//       "workloads": { "bert": { "smBusy": 97, "soloThroughput": 84.1 } },
//       "colocations": [ { "clients": [ { "workload": "bert", "throughput": 50.3 },
//                                       { "workload": "gpt2", "retained": 0.61, "smShare": 0.4 } ] } ] }
//
// `throughput` is in the unit of the workload's soloThroughput; without that, `retained` says their ratio. A
// workload that the file does not describe may be one whose profile the caller has.
import type { Colocation, Side } from "./colocations.ts";
import { badTable } from "./faults.ts";
import { type Features, isMetric, metricNames } from "./metrics.ts";

export interface Measured {
  readonly source: string;
  /** By name: those of the file, and the profiled ones that it names. */
  readonly workloads: ReadonlyMap<string, Features>;
  readonly colocations: readonly Colocation[];
}

type Fields = Readonly<Record<string, unknown>>;

/** `profiled`: for workloads that the file does not describe. */
export function readTable(
  text: string,
  file: string,
  profiled: (name: string) => Features | undefined = () => undefined,
): Measured {
  const bad = (place: string, what: string) => badTable(file, place, what);
  const fieldsOf = (value: unknown, place: string): Fields => {
    if (typeof value !== "object" || value === null || Array.isArray(value))
      throw bad(place, "it is not an object.");
    return value as Fields;
  };
  const document = fieldsOf(parsed(text, file), "");
  if (document.version !== 1) throw bad("version", "it is not 1.");
  if (typeof document.source !== "string" || document.source === "")
    throw bad("source", "it does not say where the figures come from.");

  const workloads = new Map<string, Features>();
  for (const [name, value] of Object.entries(fieldsOf(document.workloads ?? {}, "workloads")))
    workloads.set(
      name,
      featuresIn(fieldsOf(value, `workloads.${name}`), (metric, what) =>
        bad(`workloads.${name}${metric && `.${metric}`}`, what),
      ),
    );

  const { colocations } = document;
  if (!Array.isArray(colocations) || colocations.length === 0)
    throw bad("colocations", "there are none.");
  const sideOf = (value: unknown, place: string): Side => {
    const client = fieldsOf(value, place);
    const name = client.workload;
    if (typeof name !== "string") throw bad(place, 'its "workload" is no name.');
    const features = workloads.get(name) ?? profiled(name);
    if (!features) throw bad(place, `nothing is known of the workload "${name}".`);
    workloads.set(name, features);
    const number = (field: string): number | undefined => {
      const given = client[field];
      if (given === undefined) return undefined;
      if (typeof given !== "number" || !(given >= 0 && Number.isFinite(given)))
        throw bad(place, `the ${field} of "${name}" is ${given}, not a number of 0 or more.`);
      return given;
    };
    const smShare = number("smShare") ?? 1;
    if (!(smShare > 0 && smShare <= 1))
      throw bad(place, `the smShare of "${name}" is ${smShare}, not above 0 and at most 1.`);
    const retained = number("retained");
    if (retained !== undefined) return { features, retained, smShare };
    const throughput = number("throughput");
    const solo = features.soloThroughput;
    if (throughput === undefined)
      throw bad(place, `"${name}" has neither retained nor throughput.`);
    if (!solo)
      throw bad(place, `the throughput of "${name}" can't be judged without its soloThroughput.`);
    return { features, retained: throughput / solo, smShare };
  };
  return {
    source: document.source,
    colocations: colocations.map((value, i) => {
      const { clients } = fieldsOf(value, `colocations[${i}]`);
      if (!Array.isArray(clients) || clients.length < 2)
        throw bad(`colocations[${i}]`, "it has fewer than two clients.");
      return {
        sides: clients.map((client, k) => sideOf(client, `colocations[${i}].clients[${k}]`)),
      };
    }),
    workloads,
  };
}

function parsed(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch (fault) {
    throw badTable(file, "", `it is no JSON: ${fault instanceof Error ? fault.message : fault}.`);
  }
}

function featuresIn(fields: Fields, bad: (metric: string, what: string) => Error): Features {
  for (const [name, value] of Object.entries(fields)) {
    if (!isMetric(name))
      throw bad("", `no metric is called "${name}". Known: ${metricNames.join(", ")}.`);
    if (typeof value !== "number" || !(value >= 0 && Number.isFinite(value)))
      throw bad(name, `it is ${value}, not a number of 0 or more.`);
  }
  return fields;
}
