// Where the version stands: one table, with which it is read, compared and written.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A file → patterns, each with the version as its only group. */
const places: Readonly<Record<string, readonly RegExp[]>> = {
  "package.json": [/^ {2}"version": "([^"]+)"/m],
  "package-lock.json": [/^ {2}"version": "([^"]+)"/m, /^ {6}"version": "([^"]+)"/m],
  "python/pyproject.toml": [/^version = "([^"]+)"/m],
  "deploy/kubernetes/chart/Chart.yaml": [/^version: (\S+)/m, /^appVersion: (\S+)/m],
  "deploy/kubernetes/chart/values.yaml": [/^image: cotenant:(\S+)/m],
  "docs/guide/kubernetes.md": [/registry\.example\/cotenant:(\S+)/g],
};

const matches = (text: string, pattern: RegExp) => {
  const all = [...text.matchAll(new RegExp(pattern, [...new Set(`${pattern.flags}g`)].join("")))];
  return pattern.flags.includes("g") ? all : all.slice(0, 1);
};

/**
 * Returns the version of the tree in `root`.
 *
 * @throws Error naming the file whose version is missing, or differs from package.json's
 */
export function versionOf(root: string): string {
  let version: string | undefined;
  for (const [file, patterns] of Object.entries(places)) {
    const text = readFileSync(join(root, file), "utf8");
    for (const pattern of patterns) {
      const found = matches(text, pattern).map(([, one = ""]) => one);
      if (found.length === 0) throw new Error(`${file} has no version that matches ${pattern}.`);
      version ??= found[0];
      const other = found.find((one) => one !== version);
      if (other !== undefined)
        throw new Error(`${file} says version ${other}, and package.json ${version}.`);
    }
  }
  return version ?? "";
}

/** Writes `version` in place of the tree's own. Returns the files. */
export function setVersion(root: string, version: string): readonly string[] {
  const own = versionOf(root);
  for (const [file, patterns] of Object.entries(places)) {
    const path = join(root, file);
    let text = readFileSync(path, "utf8");
    for (const pattern of patterns)
      text = text.replace(pattern, (whole) => whole.replace(own, version));
    writeFileSync(path, text);
  }
  return Object.keys(places);
}

const form = /^(\d+)\.(\d+)\.(\d+)$/;

/** Whether `version` is three numbers that come after those of `earlier`. */
export function isLater(version: string, earlier: string): boolean {
  const [ours, theirs] = [version, earlier].map((one) => form.exec(one)?.slice(1).map(Number));
  if (!ours || !theirs) return false;
  const at = ours.findIndex((number, index) => number !== theirs[index]);
  return at >= 0 && (ours[at] ?? 0) > (theirs[at] ?? 0);
}
