// The decisions of Cotenant's manager in a simulated cluster.
export { managerScheduler } from "./scheduler.ts";
