export { type FormMaker, noFormMaker } from "./maker.ts";
export { serveForms } from "./process.ts";
export { type FormLimits, FormQueue, formLimits } from "./queue.ts";
export { noForms } from "./store.ts";
export { makeForms } from "./variants.ts";
export type { Program } from "./worker.ts";
