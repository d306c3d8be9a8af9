import type { Field } from "#core";
import type { Dim3, KernelProfile } from "./types.ts";

export function readDim3(field: Field): Dim3 {
  const [x, y, z, ...more] = field.list();
  if (!x || !y || !z || more.length > 0) throw field.bad("is not three sizes.");
  return [x.whole(1), y.whole(1), z.whole(1)];
}

export function readQuantiles(duration: Field): KernelProfile["durationNs"] {
  const [p50, p95] = [duration.at("p50").number(), duration.at("p95").number()];
  if (p95 < p50) throw duration.at("p95").bad(`is ${p95}, less than p50 (${p50}).`);
  return { p50, p95 };
}

export function present<Name extends string>(
  from: Field,
  readers: Readonly<Record<Name, (field: Field) => number>>,
): { readonly [K in Name]?: number } {
  const read: { [K in Name]?: number } = {};
  for (const name of Object.keys(readers) as Name[]) {
    const field = from.at(name);
    if (!field.missing) read[name] = readers[name](field);
  }
  return read;
}
