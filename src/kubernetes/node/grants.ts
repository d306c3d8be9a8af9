// The agent reads the file of grants when it changes.
import { existsSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { PreparedClaim } from "./claims.ts";
import { isHigh } from "./state/gpus.ts";
import type { NodePod } from "./state/objects.ts";

export const grantsFor = (
  pods: Iterable<NodePod>,
  claims: readonly PreparedClaim[],
): readonly object[] => [
  ...[...pods].filter(isHigh).map(({ metadata: { namespace, name, uid } }) => ({
    name: `${namespace}/${name}`,
    to: { pod: uid },
    class: "high",
  })),
  ...claims.map(({ namespace, podName, podUid, memoryBytes }) => ({
    name: `${namespace}/${podName}`,
    to: { pod: podUid },
    class: "best-effort",
    ...(memoryBytes > 0 && { memory: memoryBytes }),
  })),
];

export class GrantsFile {
  readonly #path: string;
  #written = "";

  constructor(path: string) {
    this.#path = path;
    mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
    // The agent does not start without the file that it was told of.
    if (!existsSync(path)) this.write([]);
  }

  write(grants: readonly object[]): void {
    const text = `${JSON.stringify({ version: 1, grants }, null, 2)}\n`;
    if (text === this.#written) return;
    writeFileSync(`${this.#path}.new`, text, { mode: 0o644 });
    renameSync(`${this.#path}.new`, this.#path);
    this.#written = text;
  }
}
