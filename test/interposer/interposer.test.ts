// The interposer with unmodified programs; matrix products are in products.test.ts.
import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { sanitizer } from "../native.ts";
import { testCases } from "./cases.ts";

// A sanitizer's runtime may do what we may not.
test.skipIf(sanitizer)(
  "the preloaded library can neither end a process nor print to its stdout",
  () => {
    const names = execFileSync("nm", ["-D", "--undefined-only", "build/native/libcotenant.so"], {
      encoding: "utf8",
    });
    const imported = [...names.matchAll(/ U (\w+)/g)].map((match) => match[1] ?? "");
    expect(imported).toContain("write");
    const never =
      /^(_?exit|_Exit|quick_exit|abort|__assert_fail|stdout|printf|puts|putchar|__printf_chk)$/;
    expect(imported.filter((name) => never.test(name))).toEqual([]);
  },
);

testCases([
  "calls/routing",
  "high/high",
  "high/streams",
  "high/waits",
  "high/order",
  "high/unknown_ends",
  "high/left",
  "high/queue",
  "high/young",
  "high/blocking_calls",
  "high/unseen",
  "high/startup",
  "best_effort/sharing",
  "high/announce",
  "high/requests",
  "high/segments",
  "high/job",
  "best_effort/best_effort",
  "best_effort/pauses",
  "best_effort/diary",
  "best_effort/launch_path",
  "lifetime/destroys",
  "lifetime/gangs",
  "lifetime/lifecycle",
  "lifetime/descriptors",
  "lifetime/contexts",
  "best_effort/standstill",
  "best_effort/legacy",
  "best_effort/many_kernels",
  "best_effort/phases",
  "best_effort/cancelled",
  "calls/memory",
  "calls/batches",
  "movable/allocations",
  "movable/own_memory",
  "movable/own_memory_answers",
  "movable/random_mappings",
  "movable/host_memory",
  "movable/parking",
  "movable/checkpoint",
  "movable/room",
  "graphs/captures",
  "graphs/graphs",
  "graphs/graph_parts",
  "graphs/graph_updates",
  "graphs/graph_threads",
  "best_effort/preempt",
  "best_effort/refused_variants",
  "best_effort/variant_trials",
  "record/record",
  "record/process_ends",
  "best_effort/beside",
  "best_effort/bus",
]);
