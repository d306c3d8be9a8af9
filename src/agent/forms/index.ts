export { serveForms } from "./process.ts";
export { type FormMaker, FormQueue, noFormMaker, type Program } from "./queue.ts";
