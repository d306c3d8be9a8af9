// A cluster of machines: Cotenant in a Kubernetes cluster, and a cluster in simulation.
import { csvColumns, traceFormats } from "#cluster";
import { errors, usage } from "#core";
import { command } from "../../command.ts";
import { installInto, showStatus, showWhy, uninstallFrom } from "./kubernetes.ts";
import { options } from "./options.ts";
import { EXAMPLE, simulateCluster } from "./simulate.ts";

export const clusterCommand = command({
  name: "cluster",
  summary:
    "Cotenant in a Kubernetes cluster; and simulate a cluster: who shares which GPU with whom",
  options,
  positional: {
    name: "install | status | why POD | uninstall | simulate [SCENARIO]",
    doc: `install, status, why and uninstall ask the cluster of the kubeconfig (docs/guide/kubernetes.md). SCENARIO: a JSON file as in bench/cluster/scenarios, or of your own cluster (docs/guide/cluster.md); without one, "${EXAMPLE}", which needs no data. Its trace of jobs has a format: ${Object.keys(traceFormats).join(", ")}. A trace in the format csv has the columns ${Object.keys(csvColumns).join(", ")}, of which the first two must be there`,
    atLeast: 1,
  },
  examples: ["cotenant cluster simulate --report day.html", "cotenant cluster install --print"],
  async run(args) {
    const [verb = "", first, ...others] = args.positional;
    const stray = (one: string | undefined) => {
      if (one !== undefined) throw errors.strayArgument(`cluster ${verb}`, one);
    };
    stray(others[0]);
    switch (verb) {
      case "simulate":
        return await simulateCluster(first, args);
      case "why":
        if (first === undefined) throw errors.missingArgument("cluster why", "a POD");
        return await showWhy(first, args);
      case "install":
        stray(first);
        return await installInto(args);
      case "status":
        stray(first);
        return await showStatus(args);
      case "uninstall":
        stray(first);
        return await uninstallFrom(args);
      default:
        throw usage(
          `"cluster" can't "${verb}".`,
          'It can "install", "status", "why", "uninstall" and "simulate".',
        );
    }
  },
});
