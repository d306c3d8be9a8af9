import { spawnSync } from "node:child_process";
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { expect, onTestFinished, test, vi } from "vitest";
import { checkWritable, readGiven, temporaryFolder, writeGiven } from "./files.ts";

function temporary(): string {
  const folder = mkdtempSync(`${tmpdir()}/cotenant-files-`);
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

test("a file is written whole, through a link too, and nothing else is left", () => {
  const folder = temporary();
  writeFileSync(`${folder}/old`, "old");
  symlinkSync("old", `${folder}/link`);
  writeGiven(`${folder}/link`, "new");
  expect(readFileSync(`${folder}/old`, "utf8")).toBe("new");
  expect(readdirSync(folder).sort()).toEqual(["link", "old"]);
});

test("a byte order mark is no part of a text", () => {
  const folder = temporary();
  writeFileSync(`${folder}/marked.json`, "\uFEFF{}");
  expect(readGiven(`${folder}/marked.json`, "file")).toBe("{}");
});

/** In a process that may write no file over 1 KiB, as if the disk were full then. */
test("what can't be written whole leaves what was there, and is said in a sentence", () => {
  const folder = temporary();
  writeFileSync(`${folder}/kept.json`, "old");
  const words = ["bin/cotenant", "cdi", "generate", "--gpu", "soft"];
  const asked = ["--output", `${folder}/kept.json`];
  const { status, stderr } = spawnSync(
    "bash",
    ["-c", 'ulimit -f 1; exec "$@"', "bash", process.execPath, ...words, ...asked],
    { encoding: "utf8" },
  );
  expect(stderr).toContain(`cotenant: ${folder}/kept.json can't be written: file too large`);
  expect(status).toBe(1);
  expect(readdirSync(folder)).toEqual(["kept.json"]);
  expect(readFileSync(`${folder}/kept.json`, "utf8")).toBe("old");
});

test("without a folder for temporary files the cure is said", () => {
  vi.stubEnv("TMPDIR", "/nowhere");
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(() => temporaryFolder("bench")).toThrow(
    "No temporary folder can be made in /nowhere: ENOENT.",
  );
});

test("a folder that is not there is said without a name that nobody gave", () => {
  expect(() => writeGiven("/nowhere/x", "")).toThrow(
    "/nowhere/x can't be written: no such file or directory.",
  );
});

test.each([
  { path: "/tmp", says: "/tmp can't be written: it is a folder." },
  { path: "/nowhere/x", says: "there is no folder /nowhere that you may write to." },
  { path: "/dev/null/x", says: "there is no folder /dev/null that you may write to." },
])("that $path can't be written is known before anything is lost", ({ path, says }) => {
  expect(() => checkWritable(path)).toThrow(says);
});

test("a file in a folder that may be written to is let through, there already or not", () => {
  const folder = temporary();
  writeFileSync(`${folder}/there`, "");
  expect(() => checkWritable(`${folder}/there`)).not.toThrow();
  expect(() => checkWritable(`${folder}/new`)).not.toThrow();
});
