// A file's name is a hash of what the variants were made from; it is a line of JSON with a digest,
// then the PTX. The least recently used files are removed. Variants are made again if a file or the
// disk is damaged.
import { createHash } from "node:crypto";
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export type Variants =
  | { readonly ptx: string; readonly wholeWarps: boolean }
  | { readonly reason: string };

export interface VariantStore {
  of(kernel: string, image: Uint8Array, make: () => Variants): Variants;
}

export const noVariantStore: VariantStore = { of: (_kernel, _image, make) => make() };

const MAX_BYTES = 64 * 2 ** 20;

export function openVariantStore(directory: string, mostBytes = MAX_BYTES): VariantStore {
  const code = digestOfCode();
  return {
    of(kernel, image, make) {
      const hash = createHash("sha256").update(code).update(`${kernel}\0`).update(image);
      const path = join(directory, hash.digest("hex"));
      const variants = read(path) ?? make();
      try {
        // Stored variants are written again, so that their modification time shows the last use.
        write(path, variants);
        makeRoom(directory, mostBytes);
      } catch {
        // A full disk costs time, no variants.
      }
      return variants;
    },
  };
}

/** Other passes make other variants, so the name depends on all code bundled with this file. */
function digestOfCode(): string {
  const folder = dirname(fileURLToPath(import.meta.url));
  const hash = createHash("sha256");
  for (const name of readdirSync(folder).sort())
    if (/\.[jt]s$/.test(name)) hash.update(name).update(readFileSync(join(folder, name)));
  return hash.digest("hex");
}

function read(path: string): Variants | undefined {
  try {
    const text = readFileSync(path, "utf8");
    const end = text.indexOf("\n");
    const { digest, reason, wholeWarps } = JSON.parse(text.slice(0, end));
    const ptx = text.slice(end + 1);
    const variants: Variants =
      typeof reason === "string" ? { reason } : { ptx, wholeWarps: wholeWarps === true };
    return digest === digestOf(variants) ? variants : undefined;
  } catch {
    return undefined;
  }
}

function write(path: string, variants: Variants): void {
  const [head, ptx] =
    "reason" in variants ? [variants, ""] : [{ wholeWarps: variants.wholeWarps }, variants.ptx];
  const line = JSON.stringify({ ...head, digest: digestOf(variants) });
  mkdirSync(join(path, ".."), { recursive: true, mode: 0o700 });
  writeFileSync(`${path}.new`, `${line}\n${ptx}`, { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

/** A disk may give back other bytes, and PTX with another number in it would still run. */
function digestOf(variants: Variants): string {
  const all =
    "reason" in variants ? ["reason", variants.reason] : [`${variants.wholeWarps}`, variants.ptx];
  return createHash("sha256").update(all.join("\0")).digest("hex");
}

function makeRoom(directory: string, mostBytes: number): void {
  const files = readdirSync(directory)
    .map((name) => ({ path: join(directory, name), stat: lstatSync(join(directory, name)) }))
    .sort((a, b) => b.stat.mtimeMs - a.stat.mtimeMs);
  let sum = 0;
  for (const { path, stat } of files) {
    sum += stat.size;
    if (sum > mostBytes) rmSync(path, { force: true });
  }
}
