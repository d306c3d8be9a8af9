// Whether a GPU takes a best-effort client now, as `cotenant run` asks it over the agent's socket.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { admissionByFile, formatUuid } from "#agent";
import { constants, welcomeStatus } from "#protocol";
import { attach, eventually, gpuA, gpuB, type HelloFields } from "./fakes.ts";
import { registryAtDoor } from "./registry-at-door.ts";

const { ok, later, refused } = welcomeStatus;
const anyGpu = { gpu: new Uint8Array(16), gpuIndex: -1 };
const both = () => [gpuA, gpuB].map(formatUuid);

/** Asks as a best-effort client would. */
async function ask(path: string, fields: HelloFields = {}) {
  const { welcome, files } = await attach(path, { class: "best-effort", ...fields, kind: "ask" });
  expect(files).toEqual([]);
  return { status: welcome.status, reason: welcome.reason };
}

function admissionOf(...grants: readonly object[]) {
  const folder = mkdtempSync(join(tmpdir(), "cotenant-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "grants.json");
  writeFileSync(path, JSON.stringify({ version: 1, grants }), { mode: 0o644 });
  return admissionByFile(path, process.getuid?.() ?? 0, () => {});
}

describe("a GPU that takes best-effort work", () => {
  test("says so, and reserves nothing", async () => {
    const { path, registry } = await registryAtDoor();
    for (let i = 0; i < 3; i++) expect(await ask(path)).toEqual({ status: ok, reason: "" });
    expect(registry.gpus).toEqual([]);
  });

  test("also where no GPU is known yet", async () => {
    const { path } = await registryAtDoor();
    expect(await ask(path, anyGpu)).toEqual({ status: ok, reason: "" });
  });
});

describe("a GPU that takes none", () => {
  test("because it is not well says why, and takes who attaches later only", async () => {
    let closed: string | undefined = "It is too hot.";
    const { path, logged } = await registryAtDoor({ closedFor: () => closed });
    expect(await ask(path)).toEqual({ status: later, reason: "It is too hot." });
    const client = await attach(path, { class: "best-effort" });
    expect(client.welcome).toMatchObject({ status: later, slot: -1, reason: "It is too hot." });
    expect(logged).toEqual([["waits", expect.objectContaining({ because: "It is too hot." })]]);
    closed = undefined;
    expect(await ask(path)).toEqual({ status: ok, reason: "" });
    expect((await attach(path, { class: "best-effort" })).welcome.status).toBe(ok);
  });

  test("because an operator holds it says so, and still takes who attaches", async () => {
    const { path } = await registryAtDoor({ heldFor: () => "It is held." });
    expect(await ask(path)).toEqual({ status: later, reason: "It is held." });
    expect((await attach(path, { class: "best-effort" })).welcome.status).toBe(ok);
  });

  test("takes high clients none the less", async () => {
    const { path } = await registryAtDoor({ closedFor: () => "It is too hot." });
    expect(await ask(path, { class: "high" })).toEqual({ status: ok, reason: "" });
  });

  test("because its slots are taken names nobody, and takes one when a slot is free", async () => {
    const { path, registry } = await registryAtDoor();
    const clients = await Promise.all(
      Array.from({ length: constants.MAX_BEST_EFFORT }, (_, i) =>
        attach(path, { class: "best-effort", pid: 100 + i, name: `of-others-${i}` }),
      ),
    );
    const { status, reason } = await ask(path, { pid: 1 });
    expect(status).toBe(later);
    expect(reason).toBe(
      `All ${constants.MAX_BEST_EFFORT} places for best-effort clients on ${formatUuid(gpuA)} are taken.`,
    );
    clients[3]?.hangUp();
    await eventually(() => (registry.gpus[0]?.clients.length ?? 0) < clients.length);
    expect(await ask(path, { pid: 1 })).toEqual({ status: ok, reason: "" });
  });

  test("for this tenant, who has its slots, is one that others wait for no longer", async () => {
    const admission = admissionOf({
      ...{ name: "one each", to: { everybody: true }, class: "best-effort", slots: 1 },
    });
    const { path } = await registryAtDoor({ admission });
    expect((await attach(path, { class: "best-effort", pid: 1 })).welcome.status).toBe(ok);
    const { status, reason } = await ask(path, { pid: 2 });
    expect(status).toBe(later);
    expect(reason).toMatch(
      / has taken all its slots on this GPU \(1\), by the grant "one each"\.$/,
    );
    const second = await attach(path, { class: "best-effort", pid: 2 });
    expect(second.welcome.status).toBe(later);
    expect(await ask(path, { pid: 2, gpu: gpuB })).toEqual({ status: ok, reason: "" });
  });
});

test("who may have no slot at all is refused for good", async () => {
  const everybody = { everybody: true };
  for (const grant of [
    { name: "nobody", to: everybody, class: "none" },
    { name: "no slots", to: everybody, class: "best-effort", slots: 0 },
  ]) {
    const { path } = await registryAtDoor({ admission: admissionOf(grant), uuids: both });
    expect(await ask(path, anyGpu)).toMatchObject({ status: refused });
    expect((await attach(path, { class: "best-effort" })).welcome.status).toBe(refused);
  }
});

describe("of several GPUs", () => {
  const onlyB = {
    uuids: both,
    closedFor: (uuid: string) => (uuid === formatUuid(gpuB) ? undefined : "It is too hot."),
  };

  test("one that takes best-effort work is enough", async () => {
    const { path } = await registryAtDoor(onlyB);
    expect(await ask(path, anyGpu)).toEqual({ status: ok, reason: "" });
  });

  test("the one that is named counts, by its UUID or by its number", async () => {
    const { path } = await registryAtDoor(onlyB);
    const none = { gpu: new Uint8Array(16) };
    expect((await ask(path, { gpu: gpuA })).status).toBe(later);
    expect((await ask(path, { gpu: gpuB })).status).toBe(ok);
    expect((await ask(path, { ...none, gpuIndex: 0 })).status).toBe(later);
    expect((await ask(path, { ...none, gpuIndex: 1 })).status).toBe(ok);
  });

  test("if none does, the first reason is told", async () => {
    const { path } = await registryAtDoor({ uuids: both, closedFor: () => "It is too hot." });
    expect(await ask(path, anyGpu)).toEqual({
      status: later,
      reason: "None of 2 GPUs is free. It is too hot.",
    });
  });
});
