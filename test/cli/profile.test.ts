// Profiles as a person meets them: from files in a folder to a table.
import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { ProfileStore, parseProfile } from "#profile";
import { workload } from "../gpu/example.ts";
import { person } from "./person.ts";

const { folder, write, cotenant, refusal } = person("profile");

const orion = write(
  "small_4_fwd.csv",
  `Name,Profile,Memory_footprint,SM_usage,Duration
Conv,1,0,98,300000
BatchNorm,0,0,40,100000
Conv,1,0,98,300000
`,
);

describe("profile", () => {
  test("what Orion published becomes a profile, is listed and shown", async () => {
    const out = `${folder}/orion`;
    const path = `${out}/small_4_fwd@Tesla+V100-SXM2-16GB.json`;
    expect(await cotenant("profile", "import", orion, "--from", "orion", "--out", out)).toBe(
      `${path}: small_4_fwd, inference on Tesla V100-SXM2-16GB; 3 kernels, 2 distinct, 700 us in all; 74 of 80 SMs; compute 86 %, memory 14 %`,
    );
    expect(await cotenant("profile", "list", out)).toBe(
      [
        "name         GPU                  kind       kernels  distinct    time  alone  SMs",
        "small_4_fwd  Tesla V100-SXM2-16GB  inference        3         2  700 us      -   74",
      ]
        .join("\n")
        .replace("GPU                  kind", "GPU                   kind"),
    );
    expect(await cotenant("profile", "show", path, "--top", "1")).toBe(
      [
        `small_4_fwd, inference on Tesla V100-SXM2-16GB; 3 kernels, 2 distinct, 700 us in all; 74 of 80 SMs; compute 86 %, memory 14 %; from ${orion}`,
        "",
        "kernel  class    launches     p50     p95  SMs  in all  part",
        "Conv    compute         2  300 us  300 us   98  600 us  86 %",
        "1 more kernels take 100 us.",
      ].join("\n"),
    );
  });

  test("Nsight Compute's rows become a profile of the GPU and kind that are named", async () => {
    const ncu = write(
      "bert.csv",
      `"ID","Kernel Name","Block Size","Grid Size","CC","gpu__time_duration.sum"
"","","","","","ns"
"0","gemm","(256, 1, 1)","(132, 1, 1)","9.0","9000"
"1","gemm","(256, 1, 1)","(132, 1, 1)","9.0","11000"
`,
    );
    const out = `${folder}/ncu`;
    await cotenant(
      ...["profile", "import", ncu, "--from", "ncu", "--kind", "inference", "--gpu", "H200"],
      ...["--solo", "3ms", "--iterations", "2", "--name", "bert/2", "--out", out],
    );
    const [{ path = "" } = {}] = new ProfileStore(out).list();
    expect(parseProfile(readFileSync(path, "utf8"), path)).toMatchObject({
      name: "bert/2",
      kind: "inference",
      gpu: { name: "NVIDIA H200" },
      soloNs: 3_000_000,
      sequence: [{ kernel: 0 }],
    });
  });

  test("a damaged file does not hide the others", async () => {
    const out = `${folder}/damaged`;
    const store = new ProfileStore(out);
    store.write(workload("good", [{ us: 10 }]));
    writeFileSync(`${out}/bad@H200.json`, "{");
    expect(await cotenant("profile", "list", out)).toMatch(/bad .*damaged(.|\n)*good .*training/);
  });

  const importing = ["profile", "import", orion];
  test.each([
    [["profile", "--out", folder, "fly"], 'Cannot run "fly": there is no such command.'],
    [["profile", "show"], '"profile show" needs a NAME or FILE.'],
    [
      ["profile", "show", "net", "--out", folder],
      "There is no profile file net, and no profile of",
    ],
    [["profile", "list", "a", "b"], '"profile list" does not know what to do with "b".'],
    [["profile", "show", "/nonexistent.json"], "There is no profile /nonexistent.json."],
    [["profile", "show", orion], "where JSON has a value."],
    [importing, '"profile import" needs --from ncu|torch|orion.'],
    [
      [...importing, "--from", "ncu", "--out", folder],
      '"profile import" needs --kind inference|training.',
    ],
    [[...importing, "--from", "ncu", "--kind", "training", "--out", folder], "small_4_fwd.csv"],
    [
      [...importing, "--from", "orion", "--kind", "training", "--out", folder],
      "by its name it is inference, not training.",
    ],
    [
      [...importing, "--from", "orion", "--gpu", "H200", "--out", folder],
      "Orion's files were recorded on Tesla V100-SXM2-16GB, not on H200.",
    ],
    [
      [...importing, orion, "--from", "orion", "--name", "x", "--out", folder],
      "--name is for one file.",
    ],
    [
      ["profile", "import", "/nowhere", "--from", "orion", "--out", folder],
      "The file /nowhere can't be read: no such file or directory.",
    ],
    [[...importing, "--from", "orion", "--out", orion], "small_4_fwd.csv can't be written: "],
  ])("%j is refused in a sentence", async (argv, says) => {
    expect(await refusal(...argv)).toContain(says);
  });
});
