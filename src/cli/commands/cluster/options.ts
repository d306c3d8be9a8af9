// The options of all that `cotenant cluster` can do.
import { schedulers } from "#cluster";
import { ms } from "#core";
import { type Args, choice, duration, flag, json, list, number, text } from "../../command.ts";

/** Options of `simulate`. */
const simulating = {
  scheduler: list(
    "NAME",
    `instead of the scenario's; one of: ${schedulers.map(({ name }) => name).join(", ")}. Behind a name, @rounds or @once says when it decides`,
  ),
  seed: number("N", undefined, "simulate this seed only", { min: 0, max: 1_000_000, whole: true }),
  data: text(
    "DIR",
    undefined,
    "where the files are whose names begin with data: in the scenario; by default COTENANT_DATA",
  ),
  out: text("FILE", undefined, "write all figures here, as JSON"),
  report: text("FILE", undefined, "write a page with charts here, HTML that needs nothing else"),
  "from-cluster": flag("simulate the Kubernetes cluster as it is now"),
  export: text(
    "DIR",
    undefined,
    "with --from-cluster: write the scenario there instead, to change and to simulate it",
  ),
};

/** Options of commands that ask a Kubernetes cluster. */
const asking = {
  kubeconfig: text("FILE", undefined, "the cluster, as kubectl takes it; by default KUBECONFIG"),
  context: text("NAME", undefined, "of the kubeconfig; by default its current one"),
  namespace: text("NAME", "default", "of the pod that why is about"),
};

const installing = {
  image: text("IMAGE", undefined, "install: what scripts/image made, in your registry"),
  "image-pull-secret": list("NAME", "install: a Secret of the namespace cotenant-system"),
  gpu: choice(
    ["auto", "soft"],
    "auto",
    "install: auto: NVIDIA GPUs; soft: the software GPU, for clusters without GPUs",
  ),
  print: flag("install: print the objects instead of installing them"),
  wait: duration("TIME", ms(180_000), "install: how long to wait until the programs run"),
  evict: flag("uninstall: delete best-effort pods that are still there"),
};

export const options = { ...simulating, ...asking, ...installing, json };

export type Given = Args<typeof options>;
