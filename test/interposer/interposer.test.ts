// What the interposer does with unmodified programs; matrix products are in products.test.ts.
import { testCases } from "./cases.ts";

testCases([
  "routing",
  "high",
  "announce",
  "besteffort",
  "lifecycle",
  "memory",
  "graphs",
  "preempt",
  "record",
  "beside",
  "bus",
]);
