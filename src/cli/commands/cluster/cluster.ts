import { errors, usage } from "#core";
import { command } from "../../program/command.ts";
import { installInto, showStatus, showWhy, uninstallFrom } from "./kubernetes.ts";
import { options } from "./options.ts";
import { showReport } from "./report.ts";

export const clusterCommand = command({
  name: "cluster",
  summary: "Cotenant in a Kubernetes cluster",
  options,
  positional: {
    name: "install | status | why POD | report [NAMESPACE] | uninstall",
    doc: "asks the cluster of the kubeconfig (docs/guide/kubernetes.md)",
    atLeast: 1,
  },
  examples: ["cotenant cluster install --print", "cotenant cluster report research --weeks 8"],
  async run(args) {
    const [verb = "", first, ...others] = args.positional;
    const stray = (one: string | undefined) => {
      if (one !== undefined) throw errors.strayArgument(`cluster ${verb}`, one);
    };
    stray(others[0]);
    switch (verb) {
      case "why":
        if (first === undefined) throw errors.missingArgument("cluster why", "a POD");
        return await showWhy(first, args);
      case "install":
        stray(first);
        return await installInto(args);
      case "status":
        stray(first);
        return await showStatus(args);
      case "report":
        return await showReport(first, args);
      case "uninstall":
        stray(first);
        return await uninstallFrom(args);
      default:
        throw usage(
          `"cluster" can't "${verb}".`,
          'It can "install", "status", "why", "report" and "uninstall".',
        );
    }
  },
});
