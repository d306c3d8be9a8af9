// Where the rules of structure.ts do not hold, and why.

/** Folders of data: each file is one of a kind, and is found by its name, number or date. */
export const dataFolders: readonly string[] = ["bench/results", "docs/design/decisions"];

/** Files of the product that import the laboratory: they write the documents of both, and are no part of what runs. */
export const writesForBoth: readonly string[] = ["scripts/manual.ts"];
