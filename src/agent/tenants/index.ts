export { type Admission, admissionByFile, admitAll, type Verdict } from "./admission.ts";
export { ComplianceChecks, type HoldRecord, type Ignored } from "./compliance.ts";
export {
  describeIdentity,
  describeOrigin,
  describeUser,
  type Identity,
  identityOf,
  tenantOf,
  withUserName,
} from "./identity.ts";
