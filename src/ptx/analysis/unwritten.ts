// All threads that load from one address in it get the same value: plain loads that race with a
// write are undefined (PTX ISA 9.0, 8.7.1). Parameters are assumed to point to different memory.

import type { Instruction } from "../syntax/syntax.ts";
import { locations, mayAlias } from "./alias-analysis.ts";
import { calleeOf } from "./call-graph.ts";
import type { Flow } from "./control-flow.ts";
import { operandRead, operandWritten } from "./memory-accesses.ts";

export function unwritten(flow: Flow, params: ReadonlySet<string>): (load: Instruction) => boolean {
  let places: ReturnType<typeof placesOf> | undefined;
  return (load) => {
    const { modifiers } = load.operation;
    if (modifiers.some((one) => /^(volatile|relaxed|acquire|mmio)$/.test(one))) return false;
    places ??= placesOf(flow, params);
    const place = places.known.of(load, operandRead(load));
    if (place.roots === undefined || place.space !== "global") return false;
    return !places.mayCall && !places.written.some((other) => mayAlias(other, place));
  };
}

function placesOf(flow: Flow, params: ReadonlySet<string>) {
  const known = locations(flow, () => undefined, params);
  const written = flow.instructions.flatMap((one) => {
    const target = operandWritten(one);
    return target === undefined ? [] : [known.of(one, target)];
  });
  // Writes of a device function or the runtime are not known here.
  return { known, written, mayCall: flow.instructions.some(isCall) };
}

const isCall = (one: Instruction) =>
  one.operation.opcode === "call" && !onlyReports.has(calleeOf(one) ?? "");

/** These functions of the CUDA device runtime write to no memory of the program. */
const onlyReports: ReadonlySet<string> = new Set(["vprintf", "__assertfail", "__assert_fail"]);
