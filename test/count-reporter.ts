import type { Reporter, TestModule } from "vitest/node";

// CI reads the last line of a run; this is the form it knows.
export default class CountReporter implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<TestModule>): void {
    const count = { passed: 0, failed: 0, skipped: 0, pending: 0 };
    for (const module of modules)
      for (const test of module.children.allTests()) count[test.result().state]++;
    const skipped = count.skipped + count.pending;
    console.log(`Tests: ${count.passed} passed, ${count.failed} failed, ${skipped} skipped`);
  }
}
