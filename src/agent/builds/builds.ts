// Copies of the package that agents run from, named by a hash of the files. The package may be
// replaced while an agent and its clients run: they load code from the copy.
import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname, join } from "node:path";

const parts = [
  "package.json",
  "bin",
  "dist",
  "build/native/libcotenant.so",
  "build/native/libcotenant-gate.so",
  "build/native/libcotenant-nccl.so",
  "build/native/cotenant",
  "build/native/cotenant-ptxas",
  "build/native/cotenant-ptxas-blackwell",
  "build/native/softgpu/libcuda.so.1",
  "node_modules/koffi",
  "node_modules/@koromix",
];
/** The laboratory is left out, and what serves koffi's compiler alone. */
const LEFT_OUT = /^(dist\/lab|node_modules\/koffi\/(lib|vendor|doc))(\/|$)/;

/**
 * Copies the package once. `open`: all users may read the copy. Returns undefined if programs can't
 * be loaded from there, or the package is a clone, whose files nobody replaces unasked.
 */
export function keepBuild(root: string, folder: string, open: boolean): string | undefined {
  const files = parts.flatMap((part) => filesBelow(root, part));
  if (existsSync(join(root, "src")) || !files.includes("dist/cotenant.js")) return undefined;
  makeFolder(folder, open);
  if (!mayLoadFrom(folder)) return undefined;
  const hash = createHash("sha256");
  for (const file of files)
    hash
      .update(file)
      .update("\0")
      .update(readFileSync(join(root, file)));
  const kept = join(folder, hash.digest("hex").slice(0, 16));
  if (existsSync(kept)) return kept;
  const begun = `${kept}.${process.pid}`;
  for (const file of files) {
    const target = join(begun, file);
    makeFolder(dirname(target), open);
    copyFileSync(join(root, file), target);
    if (open) chmodSync(target, statSync(target).mode | 0o444 | executable(target));
  }
  if (open) chmodSync(begun, 0o755);
  try {
    renameSync(begun, kept);
  } catch (error) {
    rmSync(begun, { recursive: true, force: true });
    if (!existsSync(kept)) throw error; // else somebody was faster
  }
  return kept;
}

const executable = (path: string) => ((statSync(path).mode & 0o100) === 0 ? 0 : 0o111);

function filesBelow(root: string, part: string): readonly string[] {
  const path = join(root, part);
  if (LEFT_OUT.test(part) || !existsSync(path)) return [];
  if (!statSync(path).isDirectory()) return [part];
  return readdirSync(path)
    .toSorted()
    .flatMap((name) => filesBelow(root, `${part}/${name}`));
}

function makeFolder(path: string, open: boolean): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path), open);
  mkdirSync(path, { mode: 0o700 });
  if (open) chmodSync(path, 0o755);
}

/** A file system mounted with noexec loads no library. Where /proc is silent, it may load. */
function mayLoadFrom(folder: string): boolean {
  try {
    const path = `${realpathSync(folder)}/`;
    const mounts = readFileSync("/proc/self/mountinfo", "utf8")
      .split("\n")
      .map((line) => line.split(" "))
      .filter(([, , , , point = ""]) => path.startsWith(point === "/" ? point : `${point}/`));
    const [, , , , , options = ""] = mounts.reduce(
      (longest, one) => ((one[4] ?? "").length >= (longest[4] ?? "").length ? one : longest),
      [],
    );
    return !options.split(",").includes("noexec");
  } catch {
    return true;
  }
}

export function removeUnusedBuilds(own: string): readonly string[] {
  const folder = dirname(own);
  const others = namesIn(folder).filter((name) => join(folder, name) !== own);
  if (others.length === 0) return [];
  const used = namesIn("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => `${readOr(`/proc/${pid}/maps`)}\0${readOr(`/proc/${pid}/environ`)}`);
  const unused = others.filter((name) => used.every((text) => !text.includes(join(folder, name))));
  for (const name of unused) rmSync(join(folder, name), { recursive: true, force: true });
  return unused;
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function readOr(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}
