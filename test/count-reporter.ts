import type { Reporter, SerializedError, TestModule } from "vitest/node";
import { furtherTries } from "./retries.ts";

const firstLine = (error?: { readonly message: string }): string =>
  error?.message.split("\n", 1)[0] ?? "";

/** Failed tests, a line each. */
function* failures(
  modules: ReadonlyArray<TestModule>,
  // Such as a worker that dies and takes its tests along.
  outside: ReadonlyArray<SerializedError>,
): Generator<string> {
  for (const module of modules) {
    // Its tests could not be collected, or a hook failed.
    for (const error of module.errors()) yield `${module.relativeModuleId}: ${firstLine(error)}`;
    for (const test of module.children.allTests("failed"))
      yield `${module.relativeModuleId} > ${test.fullName}: ${firstLine(test.result().errors?.[0])}`;
  }
  for (const error of outside) yield `outside of tests: ${firstLine(error)}`;
}

/** Each test that was tried more than once, whether or not it passed at last. */
function* retried(modules: ReadonlyArray<TestModule>): Generator<string> {
  for (const module of modules)
    for (const test of module.children.allTests()) {
      const tries = furtherTries(test);
      if (tries > 0)
        yield `${module.relativeModuleId} > ${test.fullName}: ${test.result().state} at try ${tries + 1}`;
    }
}

// CI reads the last line of a run; this is the form it knows. Of a long log only the end may be kept: what failed stands there.
export default class CountReporter implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<TestModule>, errors: ReadonlyArray<SerializedError>): void {
    const count = { passed: 0, failed: 0, skipped: 0, pending: 0 };
    for (const module of modules)
      for (const test of module.children.allTests()) count[test.result().state]++;
    const again = [...retried(modules)];
    for (const line of again) console.log(`RETRIED ${line}`);
    if (again.length > 0) console.log(`Tests that were tried again: ${again.length}`);
    const failed = [...failures(modules, errors)];
    for (const line of failed) console.log(`FAILED ${line}`);
    console.log(
      `Tests: ${count.passed} passed, ${failed.length} failed, ${count.skipped + count.pending} skipped`,
    );
  }
}
