export { type FormMaker, noFormMaker } from "./maker.ts";
export { serveForms } from "./process.ts";
export { FormQueue } from "./queue.ts";
export type { Program } from "./worker.ts";
