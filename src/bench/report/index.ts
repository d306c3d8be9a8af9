export { chart } from "./chart.ts";
export { markdownMatrix, markdownTable } from "./markdown.ts";
export { parseResult } from "./parse.ts";
