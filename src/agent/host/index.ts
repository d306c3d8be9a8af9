export { openHostGuard } from "./guard.ts";
export { guardClients } from "./guarding.ts";
export { checkCpus, type HostLimits, parseHostLimits } from "./limits.ts";
