// Writes what is generated: from src/protocol into native/generated, tables and charts of results into documents, and
// the colours of the dashboard; with --check, says whether what is there is what would be written, and fails if not.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { metricsTable } from "#agent";
import { colourVariables, pageColours } from "#core";
import { testedTable } from "#doctor";
import { enginesTable } from "#engines";
import { readingsTable } from "#health";
import { emitFields, emitGate, emitHeader, emitRules, ruleTable } from "#protocol";
import { queueTable } from "../bench/cluster/queue-table.ts";
import { overTimeChart } from "../bench/live/over-time-chart.ts";
import { paperTables } from "../bench/papers/tables.ts";
import { predictionTables } from "../bench/predict/tables.ts";
import { sharingDocuments, withTables } from "../bench/sharing/documents.ts";
import { pairTable, programTable } from "../bench/tested/matrix.ts";

const POLICIES = "docs/guide/reference/policies.md";
const LLM = "docs/guide/llm.md";
const INSTALL = "docs/guide/install.md";
const TESTED = "docs/results/tested.md";
const OVER_TIME = "bench/results/2026-11-22-h200-responsiveness.json";
const MONITORING = "docs/guide/reference/monitoring.md";
const MODEL = "docs/results/model.md";
const PAPERS = "docs/results/papers.md";
const PREDICTION = "docs/results/prediction.md";
const PROTECTION = "docs/guide/protection.md";

const outputs = {
  ...sharingDocuments(),
  [POLICIES]: withTables(readFileSync(POLICIES, "utf8"), new Map([["rules", ruleTable()]])),
  [LLM]: withTables(readFileSync(LLM, "utf8"), new Map([["engines", enginesTable()]])),
  [INSTALL]: withTables(readFileSync(INSTALL, "utf8"), new Map([["tested", testedTable()]])),
  [TESTED]: withTables(
    readFileSync(TESTED, "utf8"),
    new Map([
      ["programs", programTable()],
      ["pair", pairTable()],
    ]),
  ),
  [MODEL]: withTables(readFileSync(MODEL, "utf8"), new Map([["queue", queueTable()]])),
  [PAPERS]: withTables(readFileSync(PAPERS, "utf8"), paperTables()),
  [PREDICTION]: withTables(readFileSync(PREDICTION, "utf8"), predictionTables()),
  [MONITORING]: withTables(
    readFileSync(MONITORING, "utf8"),
    new Map([["metrics", metricsTable()]]),
  ),
  [PROTECTION]: withTables(
    readFileSync(PROTECTION, "utf8"),
    new Map([["readings", readingsTable()]]),
  ),
  "docs/results/charts/responsiveness.svg": overTimeChart(
    JSON.parse(readFileSync(OVER_TIME, "utf8")),
  ),
  "src/dashboard/page/colours.css": `/* Generated from src/core/drawing/colours.ts by scripts/generate.ts. */\n${colourVariables(pageColours)}`,
  "native/generated/protocol.h": emitHeader(),
  "native/generated/fields.def": emitFields(),
  "native/generated/rules.h": emitRules(),
  "native/generated/gate.h": emitGate(),
};

const check = process.argv.includes("--check");
mkdirSync("native/generated", { recursive: true });
for (const [path, wanted] of Object.entries(outputs)) {
  if (existsSync(path) && readFileSync(path, "utf8") === wanted) continue;
  // Only what differs is written: a newer header means that everything native is compiled again.
  if (!check) writeFileSync(path, wanted);
  else {
    console.error(`${path} is stale: run "npm run update" and commit it.`);
    process.exitCode = 1;
  }
}
