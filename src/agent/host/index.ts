// Keeps best-effort jobs from taking the host's CPUs and memory from services.
export { openHostGuard } from "./guard.ts";
export { guardClients } from "./guarding.ts";
export { checkCpus, type HostLimits, parseHostLimits } from "./limits.ts";
