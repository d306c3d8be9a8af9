// REEF-N's kernel selection as Orion, section 6.1, compares with it: beside an active high kernel goes what
// fits the SMs that it leaves and ends no later than it, whatever its class; and at most 12 best-effort
// kernels are out. Contexts that take turns leave each other no SMs: there it waits.

import { launchByLaunch, type Policy } from "#policy";
import { whenActive } from "#protocol";

/** "A software queue size of 12 kernels, based on discussions with the REEF authors." */
const QUEUE_KERNELS = 12;

export const reef: Policy = {
  name: "reef",
  summary:
    "beside a high kernel what fits the SMs it leaves and ends before it (REEF-N); 12 kernels out",
  rules: (seen) =>
    launchByLaunch(seen, {
      whenActive: seen.isolated ? whenActive.wait : whenActive.allowFitting,
      kernelsOut: QUEUE_KERNELS,
      wantKernels: 1,
    }),
};
