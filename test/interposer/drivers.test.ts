// Programs with several copies of the driver, or with another interposer beside ours.
import { describe } from "vitest";
import { environment, native } from "../native.ts";
import { testCases } from "./cases.ts";

const library = `${native}/libcotenant.so`;
const folder = `${native}/tests/interposer/drivers/lib`;

testCases(["drivers/copies"]);

describe("a driver that loads another", () => {
  testCases(["drivers/layers"], {
    LD_LIBRARY_PATH: folder,
    INNER_DRIVER: `${native}/softgpu/libcuda.so.1`,
  });
});

describe("a library that is linked with the driver", () => {
  testCases(["drivers/linked"], { LINKED_LIBRARY: `${folder}/liblinked.so` });
});

describe("a second driver that is newer", () => {
  testCases(["drivers/newer"], {
    NEWER_DRIVER: `${folder}/libcuda.so.1`,
    OUTER_IS_NEWER: "1",
    INNER_DRIVER: `${native}/softgpu/libcuda.so.1`,
  });
});

describe("another interposer behind ours", () => {
  testCases(["drivers/tools"], environment(library, `${folder}/libtool.so`));
});

describe("another interposer in front of ours", () => {
  testCases(["drivers/tools"], environment(`${folder}/libtool.so`, library));
});
