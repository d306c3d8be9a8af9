import { readHistograms } from "#core";
import { type LimitsUs, requestLimits } from "#policy";
import { allHistograms, judge } from "./judge.ts";

export const TTFT = "vllm:time_to_first_token_seconds";

/** `counts`: up to and including 0.05, 0.1, 0.25 s, and in all. */
export const engine = (
  counts: readonly number[],
  { name = TTFT, sum }: { name?: string; sum?: number } = {},
) =>
  readHistograms(
    ["0.05", "0.1", "0.25", "+Inf"]
      .map((le, i) => `${name}_bucket{engine="0",le="${le}"} ${counts[i]}\n`)
      .join("") + (sum === undefined ? "" : `${name}_sum{engine="0"} ${sum}\n`),
    allHistograms,
  );

export const nothing = engine([0, 0, 0, 0]);
export const only = (limits: LimitsUs, ...rest: [typeof nothing, typeof nothing]) =>
  judge(requestLimits(limits), ...rest)[0];
