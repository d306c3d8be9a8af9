import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { anyProfile, example } from "../../../test/profile/example.ts";
import { formatProfile, parseProfile } from "./document.ts";
import { checkGpu, ProfileStore, readProfileFile } from "./store.ts";
import type { WorkloadProfile } from "./types.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cotenant-profiles-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

test("a profile is read back as it was written", () => {
  fc.assert(
    fc.property(anyProfile, (profile) => {
      expect(parseProfile(formatProfile(profile), "p.json")).toEqual(profile);
    }),
  );
});

test("a file is readable text, with one kernel or step on each line", () => {
  expect(formatProfile(example).split("\n")).toEqual([
    "{",
    '  "version": 1,',
    '  "name": "bert",',
    '  "kind": "inference",',
    '  "gpu": {"name":"NVIDIA H200","computeCapability":"9.0","sms":132},',
    '  "source": "bench/results/bert.json",',
    '  "soloNs": 3300000,',
    '  "memoryBytes": 2000000000,',
    '  "smBusy": 0.4,',
    '  "memoryBusy": 0.2,',
    '  "smActivity": 0.35,',
    '  "smOccupancy": 0.1,',
    '  "kernels": [',
    expect.stringContaining(
      '    {"name":"gemm","grid":[128,1,1],"block":[384,1,1],"registers":168,',
    ),
    expect.stringContaining('    {"name":"layer_norm",'),
    "  ],",
    '  "sequence": [',
    '    {"mark":"forward"},',
    '    {"copy":"in","bytes":4096},',
    '    {"kernel":0,"gapNs":4000},',
    '    {"kernel":1},',
    '    {"kernel":1},',
    '    {"copy":"out","bytes":8}',
    "  ]",
    "}",
    "",
  ]);
});

describe("a store", () => {
  test("keeps one file for a workload on a GPU, and no other files", () => {
    const store = new ProfileStore(join(folder, "made", "here"));
    expect(store.list()).toEqual([]);
    const other: WorkloadProfile = { ...example, gpu: { ...example.gpu, name: "Tesla T4" } };
    const path = store.write(example);
    store.write(other);
    store.write({ ...example, soloNs: 1 });
    expect(readdirSync(join(folder, "made", "here")).sort()).toEqual([
      "bert@NVIDIA+H200.json",
      "bert@Tesla+T4.json",
    ]);
    expect(store.read("bert", "NVIDIA H200")).toEqual({ ...example, soloNs: 1 });
    expect(readProfileFile(path).soloNs).toBe(1);
    expect(store.list()).toEqual([
      { name: "bert", gpu: "NVIDIA H200", path },
      { name: "bert", gpu: "Tesla T4", path: path.replace("NVIDIA+H200", "Tesla+T4") },
    ]);
  });

  test("finds files that people named, by their content", () => {
    writeFileSync(join(folder, "of-bert.json"), formatProfile(example));
    writeFileSync(join(folder, "package.json"), '{"name":"bert","version":1}');
    writeFileSync(join(folder, "torn.json"), formatProfile(example).slice(0, 200));
    expect(new ProfileStore(folder).list()).toEqual([
      { name: "bert", gpu: "NVIDIA H200", path: join(folder, "of-bert.json") },
    ]);
  });

  test.each(["../escape", "a/b c", ".hidden", "x@y", "50 %+", "模型"])(
    "takes the name %s",
    (name) => {
      const store = new ProfileStore(folder);
      store.write({ ...example, name });
      expect(store.list()).toMatchObject([{ name, gpu: "NVIDIA H200" }]);
      expect(store.read(name, "NVIDIA H200").name).toBe(name);
      expect(readdirSync(folder)).toHaveLength(1);
    },
  );

  test("skips files whose names are not those of profiles", () => {
    for (const name of ["README.md", "bert.json", ".bert@T4.json", "bert@T4.json.4711.new"])
      writeFileSync(join(folder, name), "{}");
    expect(new ProfileStore(folder).list()).toEqual([]);
  });

  test("refuses to write what it could not read, and keeps the former file", () => {
    const store = new ProfileStore(folder);
    const path = store.write(example);
    expect(() => store.write({ ...example, smBusy: Number.NaN })).toThrow("smBusy: is null");
    expect(readdirSync(folder)).toEqual(["bert@NVIDIA+H200.json"]);
    expect(readFileSync(path, "utf8")).toBe(formatProfile(example));
  });

  test("reports a missing profile, and one under another's name", () => {
    const store = new ProfileStore(folder);
    const path = join(folder, "gpt@NVIDIA+H200.json");
    expect(() => store.read("gpt", "NVIDIA H200")).toThrow(`There is no profile ${path}.`);
    writeFileSync(path, formatProfile(example));
    expect(() => store.read("gpt", "NVIDIA H200")).toThrow(
      `${path}: it is the profile of bert on NVIDIA H200.`,
    );
  });
});

describe("a file that cannot be used is one sentence", () => {
  const good = formatProfile(example);
  const kernel = (change: object) =>
    JSON.stringify({ ...example, kernels: [{ ...example.kernels[0], ...change }] });
  const whole = (change: object) => JSON.stringify({ ...example, ...change });

  test.each([
    [good.slice(0, 400), "p.json, line 14, kernels[0].registers: it ends early: was it cut short?"],
    [
      good.slice(0, good.indexOf('"layer_norm"')),
      "p.json, line 15, kernels[1].name: it ends early: was it cut short?",
    ],
    [good.replace('"kind": "inference",', '"kind": "inference"'), "p.json, line 5, kind: it has"],
    ["", "p.json, line 1: it is empty."],
    ["[]", "p.json: it is a list, not an object."],
    ['{"name": "x"}', "p.json: it is no workload profile: it has no version and kernels."],
    [whole({ version: 2 }), "p.json, line 1, version: is 2; this Cotenant reads 1."],
    [
      whole({ kind: "serving" }),
      'p.json, line 1, kind: is "serving", not one of inference, training.',
    ],
    [whole({ name: "" }), 'p.json, line 1, name: is "", not a text.'],
    [whole({ smBusy: 40 }), "p.json, line 1, smBusy: is 40, not a number from 0 to 1."],
    [whole({ smBuzy: 0.4 }), "p.json, line 1, smBuzy: does not belong there."],
    [whole({ soloNs: "3 ms" }), 'p.json, line 1, soloNs: is "3 ms", not a number of 0 or more.'],
    [whole({ gpu: "H200" }), 'p.json, line 1, gpu: is "H200", not an object.'],
    [whole({ kernels: {} }), "p.json, line 1, kernels: is an object, not a list."],
    [kernel({ class: undefined }), "p.json, line 1, kernels[0].class: is missing."],
    [kernel({ grid: [1, 1] }), "p.json, line 1, kernels[0].grid: is not three sizes."],
    [
      kernel({ block: [1, 0, 1] }),
      "p.json, line 1, kernels[0].block[1]: is 0, not a whole number of 1",
    ],
    [
      kernel({ registers: 1.5 }),
      "p.json, line 1, kernels[0].registers: is 1.5, not a whole number of 0",
    ],
    [
      kernel({ durationNs: { p50: 2, p95: 1 } }),
      "p.json, line 1, kernels[0].durationNs.p95: is 1, less than p50 (2).",
    ],
    [
      whole({ sequence: [{ kernel: 0 }, { kernel: 2 }] }),
      "p.json, line 1, sequence[1].kernel: is 2, but there are only 2 kernels.",
    ],
    [
      whole({ sequence: [{ copy: "up", bytes: 1 }] }),
      'p.json, line 1, sequence[0].copy: is "up", not one of',
    ],
    [whole({ sequence: [{}] }), "p.json, line 1, sequence[0]: is no kernel, copy or mark."],
    [whole({ sequence: [7] }), "p.json, line 1, sequence[0]: is 7, not an object."],
  ])("%#: %s", (text, says) => {
    expect(() => parseProfile(text, "p.json")).toThrow(says);
  });

  test("cut short anywhere it is refused", () => {
    for (let length = 0; length < good.length - 2; length += 7)
      expect(() => parseProfile(good.slice(0, length), "p.json")).toThrow(
        /^p\.json, line \d+(, [a-z]\S*)?: /i,
      );
  });
});

test("a profile of another GPU is refused with the reason", () => {
  expect(checkGpu(example, "NVIDIA H200")).toEqual({ ok: true });
  expect(checkGpu(example, "H200")).toEqual({ ok: true });
  expect(checkGpu(example, "Tesla T4")).toEqual({
    ok: false,
    reason: "The profile bert was recorded on NVIDIA H200; this is Tesla T4.",
  });
  expect(checkGpu(example, "NVIDIA H200 MIG 1g.18gb")).toMatchObject({ ok: false });
  const own = { ...example, gpu: { ...example.gpu, name: "NVIDIA L40S" } };
  expect(checkGpu(own, "NVIDIA L40S")).toEqual({ ok: true });
});
