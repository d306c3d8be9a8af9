// The stand-in for ptxas in best-effort programs (native/ptxas), with an agent and a ptxas that only copies.
import { execFile, spawnSync } from "node:child_process";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { temporaryDirectory } from "../agent/fakes.ts";
import { agentIn } from "./variant-agent.ts";

const standIn = resolve("bin/cotenant-ptxas");

/**
 * Copies its input to what -o names; refuses text that has REFUSED in it, and says where, or by which name, as SAYS has
 * it.
 */
const PTXAS = `#!/bin/sh
[ "$1" = --version ] && { echo "ptxas of the test"; exit 0; }
for one; do
  [ "$before" = -o ] && out=$one
  case $one in *.ptx) in=$one ;; esac
  before=$one
done
if [ -n "$REFUSED" ] && grep -q "$REFUSED" "$in"; then
  case $SAYS in
    name) echo "ptxas error   : Entry function '$REFUSED' uses too much shared data" >&2 ;;
    line) grep -n "$REFUSED" "$in" | sed "s|^\\([0-9]*\\):.*|ptxas $in, line \\1; error   : refused|" >&2 ;;
    *) echo "refused" >&2 ;;
  esac
  exit 3
fi
cp "$in" "$out"
`;

const KERNEL = `.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out) { ret; }
`;

interface Setting {
  readonly socket?: string;
  readonly refused?: string;
  readonly says?: "name" | "line";
  readonly ptxas?: string;
  readonly kernels?: string;
  readonly words?: readonly string[];
}

async function run(folder: string, setting: Setting) {
  const { socket, refused, says, ptxas = join(folder, "real-ptxas"), words } = setting;
  writeFileSync(join(folder, "real-ptxas"), PTXAS);
  chmodSync(join(folder, "real-ptxas"), 0o755);
  writeFileSync(join(folder, "k.ptx"), setting.kernels ?? KERNEL);
  const given = words ?? [
    "-v",
    "--gpu-name=sm_90",
    join(folder, "k.ptx"),
    "-o",
    join(folder, "k.o"),
  ];
  const { stdout } = await promisify(execFile)(standIn, [...given], {
    env: {
      PATH: process.env.PATH,
      TMPDIR: folder,
      COTENANT_PTXAS: ptxas,
      ...(socket === undefined ? {} : { COTENANT_SOCKET: socket }),
      ...(refused === undefined ? {} : { REFUSED: refused }),
      ...(says === undefined ? {} : { SAYS: says }),
    },
  });
  return stdout;
}

/** The kernels that were assembled. */
const entries = (folder: string) =>
  [...made(folder).matchAll(/\.entry (\w+)/g)].map(([, name]) => name).sort();

const made = (folder: string) => readFileSync(join(folder, "k.o"), "utf8");

test("the real ptxas gets the kernel and its variants that can stop inside", async () => {
  const folder = temporaryDirectory();
  await run(folder, { socket: await agentIn(folder) });
  expect(entries(folder)).toEqual(["k", "k__cotenant_preempt", "k__cotenant_slice"]);
});

describe("a variant that the real ptxas refuses costs only itself", () => {
  const kernels = `${KERNEL}
// { a comment's brace, a 'quote' and a "string, which end nothing
.func helper(.param .u64 out) { .reg .b32 %r1; mov.u32 %r1, %nctaid.x; ret; }
.visible .entry second(.param .u64 out) .maxntid 64, 1, 1 { { call helper, (out); } ret; }
`;
  const all = [
    ...["k", "k__cotenant_preempt", "k__cotenant_slice"],
    ...["second", "second__cotenant_preempt", "second__cotenant_slice"],
  ];
  const sliced = (name: string) => name.endsWith("_slice");

  test.each([
    { refused: "entry second__cotenant_slice", says: "line", costs: ["second__cotenant_slice"] },
    {
      refused: "cotenant_flag;",
      says: "line",
      costs: ["k__cotenant_preempt", "second__cotenant_preempt"],
    },
    { refused: "k__cotenant_slice", says: "name", costs: ["k__cotenant_slice"] },
    { refused: "func helper__cotenant_slice", says: "line", costs: all.filter(sliced) },
    { refused: "__cotenant_slice", says: undefined, costs: all.filter(sliced) },
  ] as const)("where it says $says of $refused", async ({ refused, says, costs }) => {
    const folder = temporaryDirectory();
    const socket = await agentIn(folder);
    await run(folder, { socket, kernels, refused, ...(says && { says }) });
    expect(entries(folder)).toEqual(all.filter((name) => !costs.some((one) => one === name)));
  });

  const real = spawnSync("ptxas", ["--version"]).status === 0;
  if (!real && process.env.CI)
    throw new Error("ptxas is missing: put the folder bin of $(scripts/cuda-tools) into PATH.");
  if (!real) console.warn("SKIPPED: no variant is shown to NVIDIA's ptxas, because it is missing.");

  test.skipIf(!real).each([
    { variant: "k__cotenant_slice", wrong: "mov.u16 %nothing, 1;" },
    {
      variant: "k__cotenant_preempt",
      wrong: ".shared .b8 large[1000000]; .reg .b32 %l; mov.u32 %l, large; st.shared.u32 [%l], %l;",
    },
  ])("where NVIDIA's refuses $variant", async ({ variant, wrong }) => {
    const folder = temporaryDirectory();
    const damage = (ptx: string) => {
      const body = ptx.indexOf("{", ptx.indexOf(`${variant}(`)) + 1;
      return `${ptx.slice(0, body)}\n${wrong}\n${ptx.slice(body)}`;
    };
    await run(folder, { socket: await agentIn(folder, damage), ptxas: "ptxas" });
    const code = readFileSync(join(folder, "k.o"), "latin1");
    const found = ["k__cotenant_preempt", "k__cotenant_slice"].filter((name) =>
      code.includes(name),
    );
    expect(found).toEqual(
      ["k__cotenant_preempt", "k__cotenant_slice"].filter((one) => one !== variant),
    );
  });
});

describe("the real ptxas gets what the caller has written", () => {
  test("without an agent", async () => {
    const folder = temporaryDirectory();
    await run(folder, {});
    expect(made(folder)).toBe(KERNEL);
    await run(folder, { socket: join(folder, "nobody.sock") });
    expect(made(folder)).toBe(KERNEL);
  });

  test("when the agent does not answer", async () => {
    const folder = temporaryDirectory();
    const socket = join(folder, "silent.sock");
    const server = createServer().listen(socket);
    onTestFinished(() => void server.close());
    await run(folder, { socket });
    expect(made(folder)).toBe(KERNEL);
  });

  test("when it does not take the variant", async () => {
    const folder = temporaryDirectory();
    await run(folder, { socket: await agentIn(folder), refused: "__cotenant" });
    expect(made(folder)).toBe(KERNEL);
  });
});

test("what the real ptxas says of a wrong file is what the caller gets", async () => {
  const folder = temporaryDirectory();
  const refused = run(folder, { socket: await agentIn(folder), refused: "entry" });
  await expect(refused).rejects.toMatchObject({
    code: 3,
    stderr: expect.stringMatching("refused"),
  });
});

test("its version is the real one's and says that there are variants", async () => {
  const folder = temporaryDirectory();
  expect(await run(folder, { words: ["--version"] })).toMatch(
    /^ptxas of the test\nCotenant variants [\d.]+\n$/,
  );
});
