// How many kernels have which variant, and why the others have none.
import { extractKernel, legality, parse, reasonCodes } from "#ptx";
import { corpora } from "../../test/ptx/ptxas.ts";

export function count() {
  const reports = corpora().flatMap(({ corpus, name, text }) => {
    const module = parse(text);
    return legality(module).map((report) => ({
      corpus,
      file: name,
      alone: !("reason" in extractKernel(module, report.kernel)),
      ...report,
    }));
  });
  const names = [...new Set(reports.map(({ corpus }) => corpus))];
  const counted = names.map((corpus) => {
    const own = reports.filter((one) => one.corpus === corpus);
    const preemptible = own.filter((one) => one.preempt.legal);
    return {
      corpus,
      kernels: own.length,
      "slice legal": own.filter((one) => one.slice.legal).length,
      "preempt legal": preemptible.length,
      "of these unified": preemptible.filter((one) => one.preempt.unified).length,
      "stands alone": own.filter(({ alone }) => alone).length,
      "only whole warps": preemptible.filter((one) => one.preempt.wholeWarps).length,
    };
  });
  const against = (which: "slice" | "preempt", code: string) =>
    reports.filter((one) => one[which].reasons.some((reason) => reason.code === code)).length;
  const reasons = Object.entries(reasonCodes)
    .map(([code, meaning]) => ({
      reason: code,
      slice: against("slice", code),
      preempt: against("preempt", code),
      meaning,
    }))
    .filter(({ slice, preempt }) => slice + preempt > 0);
  const refused = reports
    .filter(({ preempt }) => !preempt.legal)
    .map(({ corpus, file, kernel, preempt }) => ({
      corpus,
      file,
      kernel,
      reasons: [...new Set(preempt.reasons.map(({ code }) => code))],
    }));
  return { corpora: counted, reasons, refused };
}
