export { makeVariants } from "./make-variants.ts";
export { noVariantMaker, type VariantMaker } from "./maker.ts";
export { serveVariants } from "./process.ts";
export { type VariantLimits, VariantQueue, variantLimits } from "./queue.ts";
export { noVariantStore } from "./store.ts";
export { assemblersIn, type Triton, tritonOf } from "./triton.ts";
export type { Program } from "./worker.ts";
