// How much GPU memory a pod or a claim is for.
import { type Bytes, parseBytes } from "#core";
import { MEMORY_ANNOTATION } from "../../labels/names.ts";

/** The texts that deploy/kubernetes/admission.yaml lets through. */
const QUANTITY = /^[1-9]\d{0,11}(Ki|Mi|Gi|Ti)?$/;

/** undefined for a pod that was there before the policies were. */
export function memoryOf({
  annotations,
}: {
  readonly annotations?: Readonly<Record<string, string>>;
}): Bytes | undefined {
  const text = annotations?.[MEMORY_ANNOTATION] ?? "";
  return QUANTITY.test(text) ? parseBytes(text) : undefined;
}
