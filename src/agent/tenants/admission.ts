// Whether a process gets the slot that it asks for, according to the grants in force.
import { statSync } from "node:fs";
import { errors } from "#core";
import type { ClientClass } from "#protocol";
import type { Log } from "../log/log.ts";
import { annotationsOf } from "./annotations.ts";
import { allows, everything, type Grant, readGrants, usualGrants } from "./grants.ts";
import { describeIdentity, type Identity } from "./identity.ts";

export interface Verdict {
  readonly grant: Grant;
  /** A sentence for the client; undefined: admitted. */
  readonly refusal: string | undefined;
  /** The refusal ends when the tenant gives a slot back. */
  readonly passes?: boolean;
}

export interface Admission {
  /** Once a second: reads what has changed, so that a file that is wrong is told of before somebody comes. */
  look(): void;
  /** Which grant applies to a process. */
  grantFor(identity: Identity): Grant;
  /** `held`: the slots that the process's tenant has on that GPU already. */
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

/** For a user's own agent, whose folder only that user can enter. */
export const admitAll: Admission = admissionBy(() => everything);

/**
 * For an agent of the machine. The file is read again when it has changed. While it is wrong, its last right content
 * applies. Throws a UserError if it is wrong at the start.
 */
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
      // Whatever the reason, for example no descriptor left, the agent keeps the grants that it has.
      log("grants not read", { file: path, because: errors.asUserError(error).message });
    }
    return grants;
  });
}

function versionOf(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  return found ? `${found.ino} ${found.mtimeMs} ${found.size}` : "gone";
}
