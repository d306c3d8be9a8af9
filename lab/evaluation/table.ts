// A file of measured colocations, and of what their workloads look like alone.
//
//     { "version": 1, "source": "where and how it was measured", "arrangement": "strict-isolated",
//       "workloads": { "bert": { "smBusy": 97, "soloThroughput": 84.1 } },
//       "colocations": [ { "clients": [ { "workload": "bert", "throughput": 50.3 },
//                                       { "workload": "gpt2", "retained": 0.61, "smShare": 0.4 } ] } ] }
//
// `throughput` is in the unit of the workload's soloThroughput. Without soloThroughput, `retained` gives their ratio. A
// workload that the file does not describe may be one whose profile the caller has.

import { type Field, readJson } from "#core";
import { type Colocation, type Features, isMetric, metricNames, type Side } from "#predict";
import { badTable } from "./errors.ts";

export interface Measured {
  readonly source: string;
  /** How the jobs shared the GPU, as the bench names it; undefined: the file does not say. */
  readonly arrangement: string | undefined;
  /** By name: the workloads of the file, and the profiled ones that it refers to. */
  readonly workloads: ReadonlyMap<string, Features>;
  readonly colocations: readonly Colocation[];
}

/**
 * `profiled`: for workloads that the file does not describe. `skip`: gets the names of those that are not known at all, whose colocations are
 * left out; without it they are refused.
 */
export function readTable(
  text: string,
  file: string,
  profiled: (name: string) => Features | undefined = () => undefined,
  skip?: (names: readonly string[], left: number) => void,
): Measured {
  const whole = readJson(text, file, badTable);
  whole.at("version").one([1]);
  const source = whole.at("source").text();
  const arrangement = whole.at("arrangement").optional((one) => one.text());
  const workloads = new Map<string, Features>();
  for (const [name, features] of whole.at("workloads").or({}).entries())
    workloads.set(name, readFeatures(features));
  const sideOf = (client: Field): Side => {
    const name = client.at("workload").text();
    const features = workloads.get(name) ?? profiled(name);
    if (!features)
      throw client
        .at("workload")
        .bad(
          `nothing is known of the workload "${name}".`,
          "Give the folder of its profile (--profiles), describe it in this file, or leave its colocations out (--skip-unknown).",
        );
    workloads.set(name, features);
    const smShare = client.at("smShare").or(1).number({ above: 0, most: 1 });
    const retained = client.at("retained").optional((one) => one.number());
    if (retained !== undefined) return { features, retained, smShare };
    if (client.at("throughput").missing)
      throw client.bad(`"${name}" has neither retained nor throughput.`);
    const throughput = client.at("throughput").number();
    const solo = features.soloThroughput;
    if (!solo)
      throw client
        .at("throughput")
        .bad(`the throughput of "${name}" can't be judged without its soloThroughput.`);
    return { features, retained: throughput / solo, smShare };
  };
  const isKnown = (name: string) => (workloads.get(name) ?? profiled(name)) !== undefined;
  const strange = new Set<string>();
  const listed = whole.at("colocations").filledList("colocation");
  const usable = listed.filter((colocation) => {
    if (skip === undefined) return true;
    const names = colocation
      .at("clients")
      .list()
      .map((client) => client.at("workload").text());
    const unknown = names.filter((name) => !isKnown(name));
    for (const name of unknown) strange.add(name);
    return unknown.length === 0;
  });
  if (strange.size > 0) skip?.([...strange], usable.length);
  const colocations = usable.map((colocation) => {
    const clients = colocation.at("clients");
    if (clients.list().length < 2) throw clients.bad("are fewer than two.");
    return { sides: clients.list().map(sideOf) };
  });
  return { source, arrangement, colocations, workloads };
}

function readFeatures(features: Field): Features {
  const read = features.entries().map(([name, value]) => {
    if (!isMetric(name))
      throw value.bad("no metric is called that.", `Known: ${metricNames.join(", ")}.`);
    return [name, value.number()] as const;
  });
  return Object.fromEntries(read);
}
