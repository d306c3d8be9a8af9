// The public data that benchmarks read. Most licences keep them out of the repository.
import { join } from "node:path";

/** What COTENANT_DATA names, else a folder beside the repository. */
export const dataFolder =
  process.env.COTENANT_DATA ?? join(import.meta.dirname, "../../shared/data");
