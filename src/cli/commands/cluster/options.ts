import { ms } from "#core";
import {
  type Args,
  choice,
  duration,
  flag,
  json,
  list,
  number,
  text,
} from "../../program/command.ts";
import { clusterOptions } from "./asking.ts";

const asking = {
  ...clusterOptions,
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
  "runtime-class": text(
    "NAME",
    undefined,
    "install: the RuntimeClass of NVIDIA's container runtime; by default nvidia, if the cluster has it",
  ),
  print: flag("install: print the objects instead of installing them"),
  wait: duration("TIME", ms(180_000), "install: how long to wait until the programs run"),
  evict: flag("uninstall: delete best-effort pods that are still there"),
};

const reporting = {
  weeks: number("N", 4, "report: the most weeks, newest first", { min: 1, max: 26, whole: true }),
};

export const options = { ...asking, ...installing, ...reporting, json };

export type Options = Args<typeof options>;
