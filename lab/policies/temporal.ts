// Time-sharing at the granularity of requests and iterations, the high job's first: the baseline of Orion,
// section 6.1. An iteration that was begun is finished, however many requests arrive; another is begun when no
// request is active and nothing is out. Where a program does not say where its iterations begin, each launch
// is one.

import { launchByLaunch, type Policy } from "#policy";
import { whenActive } from "#protocol";

export const temporal: Policy = {
  name: "temporal",
  summary: "one request or iteration at a time; what was begun is finished first",
  rules: (seen) => launchByLaunch(seen, { whenActive: whenActive.finishIteration }),
};
