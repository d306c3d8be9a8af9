// Writes what is generated: from src/protocol and src/policy into native/generated, and tables and a chart of results into
// documents; with --check, says whether what is there is what would be written, and fails if not.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { emitRules } from "#policy";
import { emitFields, emitHeader } from "#protocol";
import { sharingDocuments } from "../bench/sharing/documents.ts";

const outputs = {
  ...sharingDocuments(),
  "native/generated/protocol.h": emitHeader(),
  "native/generated/fields.def": emitFields(),
  "native/generated/rules.h": emitRules(),
};

const check = process.argv.includes("--check");
mkdirSync("native/generated", { recursive: true });
for (const [path, wanted] of Object.entries(outputs)) {
  if (!check) writeFileSync(path, wanted);
  else if (readFileSync(path, "utf8") !== wanted) {
    console.error(`${path} is stale: run "npm run update" and commit it.`);
    process.exitCode = 1;
  }
}
