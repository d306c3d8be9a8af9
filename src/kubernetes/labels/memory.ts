import { type Bytes, parseBytes } from "#core";
import { MEMORY_ANNOTATION } from "./names.ts";

/** The chart's admission.yaml lets the same texts through. */
const QUANTITY = /^[1-9]\d{0,11}(Ki|Mi|Gi|Ti)?$/;

/** undefined: it is not stated, or it can't be read. A high pod need not state it. */
export function memoryOf({
  annotations,
}: {
  readonly annotations?: Readonly<Record<string, string>>;
}): Bytes | undefined {
  const text = annotations?.[MEMORY_ANNOTATION] ?? "";
  return QUANTITY.test(text) ? parseBytes(text) : undefined;
}

export const memoryProblem = (metadata: {
  readonly annotations?: Readonly<Record<string, string>>;
}): string | undefined =>
  metadata.annotations?.[MEMORY_ANNOTATION] !== undefined && memoryOf(metadata) === undefined
    ? `${MEMORY_ANNOTATION}: "${metadata.annotations[MEMORY_ANNOTATION]}" is not an amount of memory such as 20Gi. No memory is reserved for the pod until its use is known.`
    : undefined;
