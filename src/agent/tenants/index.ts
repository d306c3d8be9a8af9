export { type Admission, admissionByFile, admitAll, type Verdict } from "./admission.ts";
export { type HoldRecord, HoldTrials, type Ignored } from "./hold-trials.ts";
export {
  describeIdentity,
  describeOrigin,
  describeUser,
  type Identity,
  identityOf,
  tenantOf,
  withUserName,
} from "./identity.ts";
