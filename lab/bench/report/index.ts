export { chart } from "./chart.ts";
export { latest } from "./latest.ts";
export { markdownMatrix, markdownSteps, markdownTable } from "./markdown.ts";
export { parseResult } from "./parse.ts";
export { terminalMatrix, terminalTable } from "./terminal.ts";
