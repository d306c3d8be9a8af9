import { type Args, choice, flag, json, list, number, text } from "#cli";

export const options = {
  objective: choice(
    ["latency", "throughput"],
    undefined,
    "instead of the file's; latency: the longest latency as short as possible; throughput: the sum of 1 / latency as large as possible",
  ),
  transitions: text(
    "N|unlimited",
    undefined,
    "instead of the file's: how often a network may change accelerators, at most",
  ),
  seconds: number(
    "S",
    60,
    "how long to search; then comes the best plan so far, and how far it may be from the best",
  ),
  svg: text("FILE", undefined, "write a picture of the timeline"),
  out: text("FILE", undefined, "plan: write the plan as JSON, to be carried out"),
  z3: flag("plan: ask Z3, too, which knows nothing of our search; for a dozen groups or fewer"),
  without: list("ACCELERATOR=OP,…", "groups: operators that an accelerator can't run"),
  json,
};

export type Options = Args<typeof options>;
