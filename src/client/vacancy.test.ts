import { expect, test } from "vitest";
import { visibleGpus } from "./vacancy.ts";

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
