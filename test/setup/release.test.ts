// `npm run release`, in a small clone whose suites and package are programs of a line.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { notesOf, released } from "../../scripts/release/notes.ts";
import { isLater, setVersion, versionOf } from "../../scripts/release/places.ts";
import { type Commands, release } from "../../scripts/release/release.ts";

const stated = [
  "package.json",
  "package-lock.json",
  "python/pyproject.toml",
  "deploy/kubernetes/chart/Chart.yaml",
  "deploy/kubernetes/chart/values.yaml",
  "docs/guide/kubernetes.md",
];

const CHANGELOG = `# Changelog

## Unreleased

### Running jobs

- Jobs run.

## 0.0.1 (2026-11-01)

- The first.
`;

interface Clone {
  readonly root: string;
  readonly git: (...args: string[]) => string;
  readonly said: string[];
  /** Releases `version`; each command is a line of shell. */
  readonly release: (version: string, lines?: Partial<Record<keyof Commands, string>>) => void;
}

function clone(): Clone {
  const root = mkdtempSync(join(tmpdir(), "cotenant-release-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  for (const file of stated) cpSync(file, join(root, file));
  writeFileSync(join(root, "CHANGELOG.md"), CHANGELOG);
  writeFileSync(join(root, ".gitignore"), "/out/\n/out.records/\n/log\n");
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], {
      cwd: root,
      encoding: "utf8",
    }).trim();
  git("init", "--quiet");
  git("config", "user.name", "a");
  git("config", "user.email", "a@b");
  git("add", ".");
  git("commit", "--quiet", "--message", "first");
  const said: string[] = [];
  return {
    root,
    git,
    said,
    release(version, lines = {}) {
      const shell = (name: keyof Commands, line: string) =>
        ["sh", "-c", `echo ${name} >>log; ${lines[name] ?? line}`, name] as const;
      release(
        {
          root,
          version,
          date: "2026-11-29",
          out: join(root, "out"),
          image: false,
          say: (sentence) => said.push(sentence),
        },
        {
          generate: shell("generate", "true"),
          build: shell("build", "true"),
          check: shell("check", "true"),
          pack: shell("pack", 'echo packed >"$1/package.tgz"'),
          wheel: shell("wheel", 'cp "$1" "$2/package.whl"'),
          image: shell("image", "false"),
          keep: shell("keep", 'cp "$1" "$2.kept"'),
        },
      );
    },
  };
}

const logOf = ({ root }: Clone) => readFileSync(join(root, "log"), "utf8").trim().split("\n");

test("a release has the version everywhere, its notes, its files with their hashes, and a tag", () => {
  const one = clone();
  one.release("7.8.9");
  expect(versionOf(one.root)).toBe("7.8.9");
  expect(logOf(one)).toEqual(["generate", "build", "check", "pack", "wheel", "keep"]);
  expect(readFileSync(join(one.root, "out/NOTES.md"), "utf8")).toBe(
    "# Cotenant 7.8.9\n\n### Running jobs\n\n- Jobs run.\n",
  );
  const hash = createHash("sha256").update("packed\n").digest("hex");
  const sums = readFileSync(join(one.root, "out/SHA256SUMS"), "utf8");
  expect(sums).toContain(`${hash}  package.tgz\n${hash}  package.whl\n`);
  expect(one.git("log", "-1", "--format=%s", "v7.8.9")).toBe("release: 7.8.9");
  expect(one.git("tag", "--list", "--format=%(contents)", "v7.8.9")).toContain(hash);
  expect(one.git("diff", "--name-status", "v7.8.9", "HEAD")).toBe("A\t7.8.9.kept");
  expect(one.git("log", "-1", "--format=%s")).toBe("test: upgrades from 7.8.9 are tested");
  expect(one.git("status", "--porcelain")).toBe("");
  expect(() => one.release("7.8.9")).toThrow("7.8.9 is released already");
});

test("a release whose suites fail is not tagged, and goes on where it stopped", () => {
  const one = clone();
  const write = 'mkdir -p "$COTENANT_CI_RECORDS" && echo ran >>"$COTENANT_CI_RECORDS/one"';
  expect(() => one.release("7.8.9", { check: `${write}; exit 3` })).toThrow(
    /"env COTENANT_CI_RECORDS=\S+ sh -c .* failed: status 3/,
  );
  expect(one.git("tag", "--list")).toBe("");
  writeFileSync(join(one.root, "mended"), "");
  one.git("add", ".");
  one.git("commit", "--quiet", "--message", "mended");
  one.release("7.8.9", { check: 'test "$(cat "$COTENANT_CI_RECORDS/one")" = ran' });
  expect(logOf(one)).toEqual([
    "generate",
    "build",
    "check",
    "build",
    "check",
    "pack",
    "wheel",
    "keep",
  ]);
  expect(one.git("log", "--format=%s", "v7.8.9")).toBe("mended\nrelease: 7.8.9\nfirst");
});

test("files that the suites change are named, and no tag is made", () => {
  const one = clone();
  expect(() => one.release("7.8.9", { check: "echo >stray" })).toThrow("?? stray");
  expect(one.git("tag", "--list")).toBe("");
});

test.each([
  ["a version that is none", "next", {}, /"next" is no version that may come next/],
  ["an older version", "7.8.9", { tag: "v7.9.0" }, /above 7\.9\.0/],
  ["a changed tree", "7.8.9", { file: "package.json" }, /commit or remove what has changed first/],
  [
    "nothing to say",
    "7.8.9",
    { changelog: "# Changelog\n\n## Unreleased\n" },
    /nothing to release/,
  ],
])("%s is refused, and nothing changes", (_, version, given, message) => {
  const one = clone();
  const { tag, file, changelog }: { tag?: string; file?: string; changelog?: string } = given;
  if (changelog !== undefined) {
    writeFileSync(join(one.root, "CHANGELOG.md"), changelog);
    one.git("commit", "--all", "--quiet", "--message", "changed");
  }
  if (tag) one.git("tag", tag);
  if (file) writeFileSync(join(one.root, file), "changed", { flag: "a" });
  const before = [one.git("rev-parse", "HEAD"), one.git("status", "--porcelain")];
  expect(() => one.release(version)).toThrow(message);
  expect([one.git("rev-parse", "HEAD"), one.git("status", "--porcelain")]).toEqual(before);
});

test("each file of this clone that states the version says the same", () => {
  expect(versionOf(".")).toMatch(/^\d+\.\d+\.\d+$/);
});

test("a file that says another version is named", () => {
  const { root } = clone();
  const path = join(root, "python/pyproject.toml");
  const text = readFileSync(path, "utf8");
  writeFileSync(path, text.replace(/^version = .*/m, 'version = "99.0.0"'));
  expect(() => versionOf(root)).toThrow("python/pyproject.toml says version 99.0.0");
  writeFileSync(path, text.replace(/^version = .*/m, ""));
  expect(() => versionOf(root)).toThrow("python/pyproject.toml has no version");
});

test("a new version changes nothing else", () => {
  const { root, git } = clone();
  setVersion(root, "7.8.9");
  const changed = git("diff", "--unified=0").split("\n");
  const added = changed.filter((line) => line.startsWith("+") && !line.startsWith("+++"));
  expect(added.every((line) => line.includes("7.8.9"))).toBe(true);
  expect(new Set(git("diff", "--name-only").split("\n"))).toEqual(new Set(stated));
});

test("notes are the text below their version's heading, also of an older one", () => {
  expect(notesOf(CHANGELOG, "0.0.1")).toBe("- The first.");
  expect(notesOf(CHANGELOG, "0.0")).toBe(undefined);
  const after = released(CHANGELOG, "7.8.9", "2026-11-29");
  expect(notesOf(after, "7.8.9")).toBe("### Running jobs\n\n- Jobs run.");
  expect(() => released(after, "8.0.0", "2026-11-30")).toThrow("nothing to release");
});

test.each([
  ["1.2.3", "1.2.2", true],
  ["1.10.0", "1.9.9", true],
  ["1.2.3", "1.2.3", false],
  ["1.2.3", "2.0.0", false],
  ["1.2", "1.1.0", false],
])("%s after %s: %s", (version, earlier, later) => {
  expect(isLater(version, earlier)).toBe(later);
});
