export { parseArrivals } from "./arrivals.ts";
export { loadCuda } from "./cuda.ts";
export { awaits, type Plan, type Result, type Served, shapes } from "./plan.ts";
export { type Run, runLoad } from "./run.ts";
