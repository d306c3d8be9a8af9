// What Cotenant's manager would decide in a simulated cluster.
export { managerScheduler } from "./scheduler.ts";
