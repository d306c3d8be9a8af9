import { type ClientClass, classes, constants, type Hello, helloKinds, type View } from "#protocol";
import { jobNameOf } from "../jobs/job-name.ts";
import { printable } from "../system/index.ts";
import type { Identity, Verdict } from "../tenants/index.ts";
import type { Applicant, Client } from "./gpu.ts";
import { objectiveIn } from "./hello-objective.ts";

export function errorIn(hello: View<typeof Hello>): string | undefined {
  if (!Object.values<number>(helloKinds).includes(hello.kind))
    return `There is no Hello of kind ${hello.kind}.`;
  if (classOf(hello) === undefined) return `There is no class ${hello.class}.`;
  return undefined;
}

export const classOf = ({ class: number }: View<typeof Hello>): ClientClass | undefined =>
  classNames.get(number);

const classNames: ReadonlyMap<number, ClientClass> = new Map([
  [classes.high, "high"],
  [classes["best-effort"], "best-effort"],
]);

export function applicantOf(
  hello: View<typeof Hello>,
  identity: Identity,
  { grant }: Verdict,
): Applicant {
  const kind = classOf(hello) ?? "best-effort";
  return {
    class: kind,
    pid: identity.pid,
    startTime: hello.startTime,
    name: printable(hello.name),
    memoryQuota: kind === "high" ? 0 : smallerLimit(hello.memoryQuota, grant.memory),
    share: grant.share,
    objective: grant.objective ?? objectiveIn(hello),
    isObjectiveStated: false,
    sloMetrics: printable(hello.sloMetrics),
    soloUs: hello.soloUs,
    gpuSharePermille: hello.gpuSharePermille,
    training: hello.training === 1,
    isOlder: hello.revision < constants.REVISION,
    identity,
    job: jobNameOf(identity),
    grant: grant.name,
    holdsOnly: false,
  };
}

const smallerLimit = (one: number, other: number): number =>
  one === 0 || other === 0 ? Math.max(one, other) : Math.min(one, other);

export const isSame = (client: Client, applicant: Applicant) =>
  client.class === applicant.class &&
  client.pid === applicant.pid &&
  client.startTime === applicant.startTime;
