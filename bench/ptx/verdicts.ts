// Only the counts of run.ts, which take seconds: npx tsx bench/ptx/verdicts.ts. COTENANT_CORPORA names a folder with a
// folder of PTX files for each further corpus, such as what nvcc makes of the headers of CUB, Thrust and CUTLASS.
import { count } from "./counting.ts";

const { corpora, reasons } = count();
console.table(corpora);
console.table(reasons);
