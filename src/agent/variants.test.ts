import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { VariantRequest, view, welcomeStatus } from "#protocol";
import { answerVariant } from "./variants.ts";

const directory = mkdtempSync(join(tmpdir(), "cotenant-variants-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const kernels = `.version 8.0
.target sm_80
.address_size 64
.global .u32 counter;
.visible .entry plain (.param .u64 out) { ret; }
.visible .entry clocked (.param .u64 out)
{
  .reg .b32 %r1;
  mov.u32 %r1, %clock;
  ret;
}
.visible .entry counting ()
{
  .reg .b32 %r1;
  atom.global.add.u32 %r1, [counter], 1;
  ret;
}
.visible .entry numbered (.param .u64 out)
{
  .reg .b64 %rd1;
  mov.u64 %rd1, %gridid;
  ret;
}
`;

function request(kernel: string, image: Uint8Array, extra = 0): string {
  const name = new TextEncoder().encode(kernel);
  const bytes = new Uint8Array(VariantRequest.size + name.length + image.length);
  const head = view(VariantRequest, bytes.buffer);
  head.nameBytes = name.length + extra;
  head.imageBytes = image.length;
  bytes.set(name, VariantRequest.size);
  bytes.set(image, VariantRequest.size + name.length);
  const path = join(directory, `${Math.random()}`);
  writeFileSync(path, bytes);
  return path;
}

const text = (source: string) => new TextEncoder().encode(`${source}\0`);

test.each([
  ["plain", ["plain", "plain__cotenant_preempt", "plain__cotenant_slice"]],
  ["clocked", ["clocked", "clocked__cotenant_slice"]],
])("the forms of %s that can stop inside are in a module of their own", (kernel, entries) => {
  const { reply, done } = answerVariant(request(kernel, text(kernels)));
  const ptx = readFileSync(`/proc/self/fd/${reply.regionFd}`, "utf8");
  done();
  expect(reply).toMatchObject({ status: welcomeStatus.ok, reason: "" });
  const found = [...ptx.matchAll(/\.entry (\w+)/g)].map(([, name]) => name);
  expect(found.sort()).toEqual(entries);
});

test("without a name all kernels get their form, in the module that they are in", () => {
  const { reply, done } = answerVariant(request("", new TextEncoder().encode(kernels)));
  const ptx = readFileSync(`/proc/self/fd/${reply.regionFd}`, "utf8");
  done();
  expect(reply).toMatchObject({ status: welcomeStatus.ok, reason: "" });
  expect(ptx.match(/\.entry (\w+)/g)?.sort()).toEqual([
    ".entry clocked",
    ".entry clocked__cotenant_slice",
    ".entry counting",
    ".entry counting__cotenant_preempt",
    ".entry counting__cotenant_slice",
    ".entry numbered",
    ".entry plain",
    ".entry plain__cotenant_preempt",
    ".entry plain__cotenant_slice",
  ]);
});

test.each([
  {
    what: "reads the grid's number",
    kernel: "numbered",
    image: text(kernels),
    says: /^Line 21: .*gridid/,
  },
  {
    what: "uses the module's memory",
    kernel: "counting",
    image: text(kernels),
    says: /it uses counter/,
  },
  { what: "is not there", kernel: "missing", image: text(kernels), says: /no kernel missing/ },
  { what: "is not PTX", kernel: "plain", image: text("nonsense {"), says: /./ },
  { what: "is nothing", kernel: "plain", image: new Uint8Array(), says: /./ },
])("a kernel that $what is refused with the reason", ({ kernel, image, says }) => {
  const { reply, done } = answerVariant(request(kernel, image));
  done();
  expect(reply).toMatchObject({ status: welcomeStatus.refused, regionFd: -1 });
  expect(reply.reason).toMatch(says);
});

test("a request that cannot be read is refused", () => {
  const short = join(directory, "short");
  writeFileSync(short, "x");
  for (const path of [short, join(directory, "nowhere"), request("plain", text(kernels), 1)])
    expect(answerVariant(path).reply).toMatchObject({ status: welcomeStatus.refused });
});
