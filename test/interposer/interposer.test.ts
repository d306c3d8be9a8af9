// What the interposer does with unmodified programs; matrix products are in products.test.ts.
import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { testCases } from "./cases.ts";

test("the preloaded library brings no other into a process", () => {
  const read = execFileSync("readelf", ["-d", "build/native/libcotenant.so"], { encoding: "utf8" });
  const needed = [...read.matchAll(/NEEDED.*\[(.*)\]/g)].map((match) => match[1]);
  const own = needed.filter((name) => !/^(libc|libdl|ld-linux-x86-64)\.so/.test(name ?? ""));
  expect(own).toEqual([]);
});

testCases([
  "routing",
  "high",
  "announce",
  "besteffort",
  "lifecycle",
  "memory",
  "graphs",
  "graph_parts",
  "preempt",
  "record",
  "beside",
  "bus",
]);
