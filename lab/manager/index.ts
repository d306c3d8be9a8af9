// The decisions of Cotenant's manager in a simulated cluster.

export { JOBS_FILE, scenarioOf } from "./scenario.ts";
export { managerScheduler } from "./scheduler.ts";
