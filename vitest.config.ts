import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    // Suites of their own, in test/suites.
    exclude: [
      "**/*.{slow,soak}.test.ts",
      "test/{containers,kubernetes,packaged}/**",
      "**/node_modules/**",
    ],
    reporters: ["default", "./test/count-reporter.ts"],
    // For two cores: a third of the time tests wait.
    maxWorkers: 3,
    // What the person who runs the tests has configured is none of theirs.
    env: { COTENANT_CONFIG: "" },
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
});
