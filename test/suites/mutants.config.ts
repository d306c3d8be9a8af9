import { defineConfig } from "vitest/config";

// The tests that mutants of src/agent and src/policy are tried with: `npm run mutants`, docs/mutants.md.
export default defineConfig({
  test: {
    include: [
      "src/agent/**/*.test.ts",
      "src/policy/**/*.test.ts",
      "test/policy/policies.test.ts",
      "test/agent/**/*.test.ts",
    ],
    // Not those in which the agent is a process of its own: what it runs there is not seen, and its start is slow.
    testNamePattern: /^(?!.*(neither a killed agent|an agent that has no descriptor left))/,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
