export { type Admission, admissionByFile, admitAll, type Verdict } from "./admission.ts";
export { describeIdentity, type Identity, identityOf, tenantOf } from "./identity.ts";
export { type Stranger, strangersOn } from "./strangers.ts";
