import type { Reporter, SerializedError, TestModule } from "vitest/node";

// CI reads the last line of a run; this is the form it knows.
export default class CountReporter implements Reporter {
  onTestRunEnd(
    modules: ReadonlyArray<TestModule>,
    // Outside of tests, such as a worker that dies and takes its tests along.
    errors: ReadonlyArray<SerializedError>,
  ): void {
    const count = { passed: 0, failed: 0, skipped: 0, pending: 0 };
    for (const module of modules)
      for (const test of module.children.allTests()) count[test.result().state]++;
    const skipped = count.skipped + count.pending;
    console.log(
      `Tests: ${count.passed} passed, ${count.failed + errors.length} failed, ${skipped} skipped`,
    );
  }
}
