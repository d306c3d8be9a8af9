// Forms of kernels that were made once, kept across runs: one file each in a directory that only the owner can enter,
// found by what they were made from. A file is a line of JSON with a digest, then the PTX. The least recently used go when there are
// too many. Whatever is wrong with a file or the disk, the form is made anew.
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
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** What the passes made of a kernel, or why they made nothing. */
export type Form =
  | { readonly ptx: string; readonly wholeWarps: boolean }
  | { readonly reason: string };

export interface Forms {
  /** Of this kernel in this image; `make` where it is not kept. */
  of(kernel: string, image: Uint8Array, make: () => Form): Form;
}

/** Nothing is kept. */
export const noForms: Forms = { of: (_kernel, _image, make) => make() };

const MOST_BYTES = 64 * 2 ** 20;

export function openForms(directory: string, mostBytes = MOST_BYTES): Forms {
  // Other passes make other forms: the program that they are part of is part of the name.
  const program = readFileSync(fileURLToPath(import.meta.url));
  return {
    of(kernel, image, make) {
      const hash = createHash("sha256").update(program).update(`${kernel}\0`).update(image);
      const path = join(directory, hash.digest("hex"));
      const form = read(path) ?? make();
      try {
        // Also what was there already: the file system notes when, and what was used last stays longest.
        write(path, form);
        makeRoom(directory, mostBytes);
      } catch {
        // A full disk costs time, no forms.
      }
      return form;
    },
  };
}

function read(path: string): Form | undefined {
  try {
    const text = readFileSync(path, "utf8");
    const end = text.indexOf("\n");
    const { digest, reason, wholeWarps } = JSON.parse(text.slice(0, end));
    const ptx = text.slice(end + 1);
    const form: Form =
      typeof reason === "string" ? { reason } : { ptx, wholeWarps: wholeWarps === true };
    return digest === digestOf(form) ? form : undefined;
  } catch {
    return undefined;
  }
}

function write(path: string, form: Form): void {
  const [head, ptx] = "reason" in form ? [form, ""] : [{ wholeWarps: form.wholeWarps }, form.ptx];
  const line = JSON.stringify({ ...head, digest: digestOf(form) });
  mkdirSync(join(path, ".."), { recursive: true, mode: 0o700 });
  writeFileSync(`${path}.new`, `${line}\n${ptx}`, { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

/** A disk gives back other bytes than it was given now and then, and PTX with another number in it would still run. */
function digestOf(form: Form): string {
  const all = "reason" in form ? ["reason", form.reason] : [`${form.wholeWarps}`, form.ptx];
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
