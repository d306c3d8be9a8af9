// Where the rules of structure.ts do not hold, and why.

/** Folders of data: each file is one of a kind, and is found by its name, number or date. */
export const dataFolders: readonly string[] = ["bench/results", "docs/design/decisions"];
