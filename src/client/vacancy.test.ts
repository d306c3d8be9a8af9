import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { visibleGpus, whyNotNow } from "./vacancy.ts";

const one = ["GPU of a kind", "GPU of a kind"];
const two = ["GPU of a kind", "another"];
const uuid = "GPU-a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf";
const bytes = Uint8Array.from({ length: 16 }, (_, i) => 0xa0 + i);
const any = [{ index: -1 }];

test.each([
  ["without the variable it may be any", undefined, any],
  ["a UUID names one", uuid, [{ uuid: bytes }]],
  ["numbers name some", "2, 0", [{ index: 2 }, { index: 0 }]],
  ["numbers and UUIDs mix", `1,${uuid.toUpperCase()}`, [{ index: 1 }, { uuid: bytes }]],
  ["an abbreviated UUID may be any", "GPU-a0a1", any],
  ["an instance may be on any", `MIG-${uuid}`, any],
  ["empty is none", "", []],
  ["what follows an invalid entry does not count", "0,-1,1", [{ index: 0 }]],
  ["an invalid entry alone is none", "-1", []],
])("of CUDA_VISIBLE_DEVICES %s", (_, visible, gpus) => {
  expect(visibleGpus({ CUDA_VISIBLE_DEVICES: visible }, one)).toEqual(gpus);
});

test("a number names no GPU where CUDA orders unequal ones by speed", () => {
  const visible = { CUDA_VISIBLE_DEVICES: "1" };
  expect(visibleGpus(visible, two)).toEqual(any);
  expect(visibleGpus({ ...visible, CUDA_DEVICE_ORDER: "PCI_BUS_ID" }, two)).toEqual([{ index: 1 }]);
});

/** Asks a process that does this with whoever comes. */
async function asked(connected: (socket: Socket) => void, withinMs: number) {
  const directory = mkdtempSync(join(tmpdir(), "cotenant-vacancy-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const socket = join(directory, "agent.sock");
  const server = createServer(connected).listen(socket);
  onTestFinished(() => void server.close());
  await once(server, "listening");
  return whyNotNow({ socket, gpuNames: [], pid: 7 }, {}, withinMs);
}

test("an agent that listens and is silent is busy", async () => {
  expect(await asked(() => {}, 50)).toContain("The agent (pid 7) is busy: it does not answer.");
});

test("an agent that hangs up, or does not listen, is waited for", async () => {
  const gone =
    'The agent (pid 7) ends, or hangs up. If it stays so, start another with "cotenant up".';
  expect(await asked((socket) => socket.destroy(), 60_000)).toBe(gone);
  const nowhere = { socket: "/nowhere/agent.sock", gpuNames: [], pid: 7 };
  expect(await whyNotNow(nowhere, {}, 60_000)).toBe(gone);
});
