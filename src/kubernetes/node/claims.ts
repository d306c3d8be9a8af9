// Each claim is one CDI file, whose annotation is the only record: nothing can contradict it. Files
// are renamed, so a reader finds a whole one or none. A restart of the machine empties the folder,
// and kubelet then asks for each claim again.
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ContainerEdits } from "#client";
import { DRIVER } from "../labels/names.ts";
import type { ClaimName, PreparedDevice } from "./kubelet/wire.ts";

const KIND = `${DRIVER}/claim`;
const RECORD = `${DRIVER}/record`;
const PREFIX = `${DRIVER}-claim_`;

export interface PreparedClaim extends ClaimName {
  readonly podUid: string;
  readonly podName: string;
  readonly gpu: string;
  readonly memoryBytes: number;
  readonly devices: readonly PreparedDevice[];
}

export const cdiName = (uid: string): string => `${KIND}=${uid}`;

export class PreparedClaims {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true, mode: 0o755 });
  }

  /** undefined: it is not prepared, or its file was damaged. */
  get(uid: string): PreparedClaim | undefined {
    try {
      const { annotations } = JSON.parse(readFileSync(this.#fileOf(uid), "utf8"));
      return JSON.parse(annotations[RECORD]);
    } catch {
      return undefined;
    }
  }

  all(): readonly PreparedClaim[] {
    return readdirSync(this.#folder)
      .filter((name) => name.startsWith(PREFIX) && name.endsWith(".json"))
      .flatMap((name) => this.get(name.slice(PREFIX.length, -".json".length)) ?? []);
  }

  write(claim: PreparedClaim, containerEdits: ContainerEdits): void {
    const document = {
      cdiVersion: "0.6.0", // the oldest with annotations
      kind: KIND,
      annotations: { [RECORD]: JSON.stringify(claim) },
      devices: [{ name: claim.uid, containerEdits }],
    };
    const path = this.#fileOf(claim.uid);
    // Container runtimes read names that end in .json or .yaml alone.
    writeFileSync(`${path}.new`, JSON.stringify(document), { mode: 0o644 });
    renameSync(`${path}.new`, path);
  }

  remove(uid: string): void {
    rmSync(this.#fileOf(uid), { force: true });
  }

  /** UIDs come from kubelet, but never lead out of the folder. */
  #fileOf(uid: string): string {
    if (!/^[\w.-]{1,64}$/.test(uid)) throw new Error(`"${uid}" is no UID of a claim`);
    return join(this.#folder, `${PREFIX}${uid}.json`);
  }
}
