// Makes a release: the version in the tree, notes, the suites of CI, artefacts with their hashes, and a tag. Nothing is
// pushed. A release that failed half-way goes on where it stopped when the same command runs again.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { notesOf, released } from "./notes.ts";
import { isLater, setVersion, versionOf } from "./places.ts";

export interface Release {
  /** The clone. */
  readonly root: string;
  /** Three numbers, such as 0.1.0. */
  readonly version: string;
  /** Its day: 2026-11-29. */
  readonly date: string;
  /** The folder for the artefacts. What it holds is removed. */
  readonly out: string;
  /** Whether an OCI image is made, too. Needs root. */
  readonly image: boolean;
  readonly say: (sentence: string) => void;
}

/** The programs that make and check. Each is run in the clone. */
export interface Commands {
  /** Rewrites what is generated from the version. */
  readonly generate: readonly string[];
  /** Builds the package and the tests' programs. */
  readonly build: readonly string[];
  /** The suites that have not passed since the release began. */
  readonly check: readonly string[];
  /** Writes the package into the folder that is its last argument. */
  readonly pack: readonly string[];
  /** Makes a wheel of the package that is its last argument but one, in the folder that is its last. */
  readonly wheel: readonly string[];
  /** Writes the image into the file that is its last argument. */
  readonly image: readonly string[];
  /** Keeps a package for tests of upgrades. Its last arguments are the package and the version. */
  readonly keep: readonly string[];
}

export const commands: Commands = {
  generate: ["npx", "tsx", "scripts/generate.ts"],
  build: ["node", "scripts/setup.mjs", "--tests"],
  check: [
    ...["env", "COTENANT_TEST_NODES=100", "COTENANT_CONTROLLERS=yes"],
    ...["npm", "run", "--silent", "ci"],
  ],
  pack: ["node", "scripts/package.mjs"],
  wheel: ["python3", "scripts/wheel.py"],
  image: ["scripts/image"],
  keep: ["scripts/release/keep"],
};

/**
 * Makes the release.
 *
 * @throws Error that names what stands in its way; what was done until then stays, and is not done again
 */
export function release(
  wanted: Release,
  { generate, build, check, pack, wheel, image, keep }: Commands,
): void {
  const { root, version, say, out } = wanted;
  const run = (command: readonly string[]): string => {
    const [program = "", ...args] = command;
    const { status, stdout, error } = spawnSync(program, args, {
      cwd: root,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
      maxBuffer: 1 << 28,
    });
    if (status === 0) return stdout;
    process.stdout.write(stdout ?? "");
    throw new Error(`"${command.join(" ")}" failed: ${error?.message ?? `status ${status}`}.`);
  };
  const git = (...args: string[]) => run(["git", ...args]).trim();

  refuse(wanted, git);
  if (!isPrepared(root, version)) {
    const changelog = join(root, "CHANGELOG.md");
    const text = released(readFileSync(changelog, "utf8"), version, wanted.date);
    setVersion(root, version);
    writeFileSync(changelog, text);
    run(generate);
    git("commit", "--all", "--quiet", "--message", `release: ${version}`);
    say(`${version} is written into the tree and committed.`);
  }
  const notes = notesOf(readFileSync(join(root, "CHANGELOG.md"), "utf8"), version) ?? "";

  run(build);
  say("the suites run now.");
  // Other runs of CI may have skipped what a release must not. After a failure its own passes count.
  run(["env", `COTENANT_CI_RECORDS=${out}.records`, ...check]);

  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  run([...pack, out]);
  const [packed = ""] = readdirSync(out);
  run([...wheel, join(out, packed), out]);
  if (wanted.image) run([...image, join(out, `cotenant-${version}.oci.tar`)]);
  writeFileSync(join(out, "NOTES.md"), `# Cotenant ${version}\n\n${notes}\n`);
  const sums = readdirSync(out)
    .toSorted()
    .map((file) => `${sha256(join(out, file))}  ${file}`);
  writeFileSync(join(out, "SHA256SUMS"), `${sums.join("\n")}\n`);

  const dirty = git("status", "--porcelain");
  if (dirty) throw new Error(`the suites or the packaging changed files of the tree:\n${dirty}`);
  const message = [`Cotenant ${version}`, "", ...sums].join("\n");
  git("tag", "--annotate", `v${version}`, "--message", message);
  run([...keep, join(out, packed), version]);
  git("add", "--all");
  git(
    "commit",
    "--quiet",
    "--message",
    `test: upgrades from ${version} are tested\n\nIts package is kept.`,
  );
  for (const sum of sums) say(sum);
  say(`v${version} is tagged, and its files are in ${out}. Push the tag to publish it.`);
}

/** @throws Error if this version can't be released from this tree */
function refuse({ root, version }: Release, git: (...args: string[]) => string): void {
  const dirty = git("status", "--porcelain");
  if (dirty) throw new Error(`commit or remove what has changed first:\n${dirty}`);
  const versions = git("tag", "--list", "v*")
    .split("\n")
    .map((tag) => tag.slice(1))
    .filter(Boolean);
  if (versions.includes(version))
    throw new Error(`${version} is released already: the tag v${version} is there.`);
  const newer = versions.find((one) => !isLater(version, one));
  if (!isLater(version, "0.0.0") || newer !== undefined)
    throw new Error(
      `"${version}" is no version that may come next: it wants three numbers, as 1.2.3${newer ? `, above ${newer}` : ""}.`,
    );
  if (!existsSync(join(root, "CHANGELOG.md"))) throw new Error("CHANGELOG.md is missing.");
}

const isPrepared = (root: string, version: string): boolean =>
  versionOf(root) === version &&
  notesOf(readFileSync(join(root, "CHANGELOG.md"), "utf8"), version) !== undefined;

const sha256 = (file: string): string =>
  createHash("sha256").update(readFileSync(file)).digest("hex");
