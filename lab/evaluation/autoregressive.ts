// Features of a workload that makes its answer token by token. KACE, section 5.2.6: the kernels of the prefill and of
// the first token represent all tokens, which keeps profiling short. The memory is that of the whole decode.
import { type Features, profileFeatures } from "#predict";
import type { WorkloadProfile } from "#profile";

/**
 * `prefill`: a profile of the prompt alone. `token`: a profile of one decoding step, measured late in the decode, so
 * that its memory is the largest. `tokens`: the length of an answer. The solo throughput is in answers a second.
 */
export function autoregressiveFeatures(
  prefill: WorkloadProfile,
  token: WorkloadProfile,
  tokens: number,
): Features {
  const { memoryBytes: _, soloNs: _prefillNs, ...whole } = prefill;
  const bytes = largest(prefill.memoryBytes, token.memoryBytes);
  const both = profileFeatures({
    ...whole,
    ...(bytes === undefined ? {} : { memoryBytes: bytes }),
    soloNs: sum(prefill.soloNs, token.soloNs),
    kernels: [...prefill.kernels, ...token.kernels],
    sequence: [
      ...prefill.sequence,
      ...token.sequence.map((step) =>
        "kernel" in step ? { ...step, kernel: step.kernel + prefill.kernels.length } : step,
      ),
    ],
  });
  const answerNs = sum(prefill.soloNs, token.soloNs && tokens * token.soloNs);
  return answerNs === undefined ? both : { ...both, soloThroughput: 1e9 / answerNs };
}

const sum = (a: number | undefined, b: number | undefined) =>
  a === undefined || b === undefined ? undefined : a + b;

const largest = (a: number | undefined, b: number | undefined) =>
  a === undefined ? b : Math.max(a, b ?? 0);
