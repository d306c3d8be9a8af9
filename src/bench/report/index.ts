export { chart } from "./chart.ts";
export { latest } from "./latest.ts";
export { markdownMatrix, markdownTable } from "./markdown.ts";
export { parseResult } from "./parse.ts";
