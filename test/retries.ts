// A test that tries again by itself notes it, so that a run shows how many did (count-reporter.ts).
declare module "@vitest/runner" {
  interface TaskMeta {
    /** Tries after the first, beside those of vitest's own `retry`. */
    furtherTries?: number;
  }
}

interface Tried {
  meta(): { readonly furtherTries?: number };
  diagnostic(): { readonly retryCount: number } | undefined;
}

/** How often a test was tried after its first try. */
export const furtherTries = (test: Tried): number =>
  (test.meta().furtherTries ?? 0) + (test.diagnostic()?.retryCount ?? 0);
