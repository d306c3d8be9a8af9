// The public data that benchmarks read. Most licences keep them out of the repository.
import { join } from "node:path";

/** The folder in COTENANT_DATA, else one beside the repository. */
export const dataFolder =
  process.env.COTENANT_DATA ?? join(import.meta.dirname, "../../shared/data");
