// What Cotenant's manager would decide in a simulated cluster.

export { JOBS_FILE, scenarioOf } from "./scenario.ts";
export { managerScheduler } from "./scheduler.ts";
