export { type FormMaker, noFormMaker } from "./maker.ts";
export { serveForms } from "./process.ts";
export { type FormLimits, FormQueue, formLimits } from "./queue.ts";
export type { Program } from "./worker.ts";
