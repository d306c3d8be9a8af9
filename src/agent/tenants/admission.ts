import { statSync } from "node:fs";
import { errors } from "#core";
import type { ClientClass } from "#protocol";
import type { Log } from "../log/log.ts";
import { annotationsOf } from "./annotations.ts";
import { allows, everything, type Grant, readGrants, usualGrants } from "./grants.ts";
import { describeIdentity, type Identity } from "./identity.ts";

export interface Verdict {
  readonly grant: Grant;
  readonly refusal: string | undefined;
  readonly passes?: boolean; // the tenant may give a slot back
}

export interface Admission {
  /** It runs once a second, so that a wrong file is reported early. */
  look(): void;
  grantFor(identity: Identity): Grant;
  judge(identity: Identity, asked: ClientClass, held: number): Verdict;
}

export function judge(identity: Identity, asked: ClientClass, held: number, grant: Grant): Verdict {
  const who = describeIdentity(identity);
  const by = `by the grant "${grant.name}"`;
  if (grant.class === "none") return { grant, refusal: `${who} gets no slot here, ${by}.` };
  if (!allows(grant, asked))
    return { grant, refusal: `${who} may only be ${grant.class} here, ${by}.` };
  if (held >= grant.slots)
    return {
      grant,
      refusal: `${who} has taken all its slots on this GPU (${grant.slots}), ${by}.`,
      passes: grant.slots > 0,
    };
  return { grant, refusal: undefined };
}

const admissionBy = (grants: () => readonly Grant[]): Admission => {
  const grantFor = (identity: Identity): Grant => {
    const { container } = identity;
    const annotations = () => (container === undefined ? {} : annotationsOf(container));
    const found = grants().find(({ to }) => to(identity, annotations));
    if (!found) throw new Error("the usual grants apply to everybody");
    return found;
  };
  return {
    look: () => void grants(),
    grantFor,
    judge: (identity, asked, held) => judge(identity, asked, held, grantFor(identity)),
  };
};

/** Only its user can enter the folder of this agent. */
export const admitAll: Admission = admissionBy(() => everything);

/** While a changed file is wrong, its last content applies. Throws a UserError at the start. */
export function admissionByFile(path: string | undefined, agentUid: number, log: Log): Admission {
  if (path === undefined) {
    const grants = usualGrants(agentUid);
    return admissionBy(() => grants);
  }
  let grants = readGrants(path, agentUid);
  let version = versionOf(path);
  return admissionBy(() => {
    const now = versionOf(path);
    if (now === version) return grants;
    version = now;
    try {
      grants = readGrants(path, agentUid);
      log("grants read", { file: path });
    } catch (error) {
      // Whatever the reason, for example no descriptor left, the agent keeps its grants.
      log("grants not read", { file: path, because: errors.asUserError(error).message });
    }
    return grants;
  });
}

function versionOf(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  return found ? `${found.ino} ${found.mtimeMs} ${found.size}` : "gone";
}
