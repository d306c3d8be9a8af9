import type { Micros } from "#core";
import { profileFolder } from "#profile";
import { type Args, choice, duration, flag, json, number, text } from "../../program/command.ts";

export const options = {
  name: text(
    "NAME",
    undefined,
    "the profile's name; by default the program's, its script's or the file's",
  ),
  out: text(
    "DIR",
    undefined,
    "the folder of profiles; by default COTENANT_PROFILES, or ~/.local/share/cotenant/profiles",
  ),
  kind: choice(
    ["inference", "training"],
    undefined,
    "what is profiled; by default the names of a command's kernels tell, and Orion's files say it",
  ),
  seconds: number("S", undefined, "so long after its start the command is told to end (SIGTERM)", {
    min: 1,
  }),
  "no-ncu": flag("no second run under Nsight Compute: the kernels' classes stay unknown"),
  "one-pass": flag(
    "several runs under Nsight Compute, of one pass each: faster for jobs with gigabytes of memory, which it saves " +
      "before each kernel that takes more passes",
  ),
  fresh: flag("start over: measure again what an unfinished run has left"),
  from: choice(
    ["ncu", "torch", "orion"],
    undefined,
    "import: what wrote the files: Nsight Compute (with --csv), PyTorch's profiler, or Orion's artifact (model_kernels)",
  ),
  gpu: text(
    "NAME",
    undefined,
    "the GPU, such as H200, where the driver or the file does not say it",
  ),
  solo: duration(
    "TIME",
    undefined,
    "how long a request or iteration takes alone, if that is known better",
  ),
  iterations: number("N", 1, "import: requests or iterations in a file of Nsight Compute", {
    min: 1,
    whole: true,
  }),
  top: number("N", 10, "show: how many kernels, those that take most time first", {
    min: 1,
    whole: true,
  }),
  json,
};

export type Options = Args<typeof options>;

export const folderOf = ({ out }: Options): string => out ?? profileFolder(process.env);

export const nsOf = (time: Micros): number => Math.round(time * 1000);
