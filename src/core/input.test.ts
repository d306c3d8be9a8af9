import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { afterAll, expect, test } from "vitest";
import { readInput } from "./input.ts";

const folder = mkdtempSync(`${tmpdir()}/cotenant-input-`);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("a file is read whole, also one whose size nobody knows before", () => {
  const text = "é".repeat(100_000);
  writeFileSync(`${folder}/text`, text);
  expect(readInput(`${folder}/text`).toString()).toBe(text);
  expect(readInput("/proc/self/status").toString()).toContain("Name:");
});

test("a file longer than allowed is refused, one as long as allowed is not", () => {
  writeFileSync(`${folder}/long`, "x");
  truncateSync(`${folder}/long`, 2 ** 20);
  expect(readInput(`${folder}/long`, 2 ** 20)).toHaveLength(2 ** 20);
  truncateSync(`${folder}/long`, 2 ** 20 + 1);
  expect(() => readInput(`${folder}/long`, 2 ** 20)).toThrow("it is longer than 1 MiB");
});

test("what gzip packed is unpacked, no further than allowed", () => {
  writeFileSync(`${folder}/packed`, gzipSync("x".repeat(2 ** 20)));
  expect(readInput(`${folder}/packed`)).toHaveLength(2 ** 20);
  expect(() => readInput(`${folder}/packed`, 2 ** 19)).toThrow(
    "unpacked it is longer than 0.5 MiB",
  );
  writeFileSync(`${folder}/packed`, gzipSync("x".repeat(2 ** 20)).subarray(0, 100));
  expect(() => readInput(`${folder}/packed`)).toThrow(
    "it begins as a file of gzip does, and is damaged",
  );
});

test("a folder is no file", () => {
  expect(() => readInput(folder)).toThrow("it is a folder, no file");
});

test("a named pipe to which nobody writes is not waited for", () => {
  execFileSync("mkfifo", [`${folder}/pipe`]);
  expect(() => readInput(`${folder}/pipe`)).toThrow("it is a named pipe, no file");
});

test.each(["/dev/zero", "/dev/urandom", "/dev/null"])("the device %s is refused", (path) => {
  expect(() => readInput(path)).toThrow("it is a device, no file");
});

test("a pipe is read until its end, and no further than allowed", () => {
  const source = fileURLToPath(new URL("./input.ts", import.meta.url));
  const read = (most: number) => {
    const code = `import { readInput } from ${JSON.stringify(source)}; try { console.log(readInput("/dev/stdin", ${most}).length) } catch (error) { console.log(error.message) }`;
    const node = `"${process.execPath}" --import tsx --input-type=module -e '${code}'`;
    return spawnSync("sh", ["-c", `head -c 300000 /dev/zero | ${node}`], { encoding: "utf8" });
  };
  expect(read(2 ** 20)).toMatchObject({ stdout: "300000\n" });
  expect(read(2 ** 18)).toMatchObject({ stdout: "it is longer than 0.25 MiB\n" });
});
