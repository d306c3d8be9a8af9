import { defineConfig } from "vitest/config";

/** Suites of their own, in test/suites. */
const elsewhere = ["**/*.{slow,soak}.test.ts", "test/{containers,kubernetes,packaged}/**"];

export default defineConfig({
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: "units",
          include: ["{src,lab}/**/*.test.ts"],
          exclude: elsewhere,
          // Files of a worker share what they import: otherwise loading it is a quarter of their CPU time.
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: "programs",
          include: ["test/**/*.test.ts"],
          exclude: [...elsewhere, "**/node_modules/**"],
        },
      },
    ],
    reporters: ["default", "./test/count-reporter.ts"],
    // For two cores: a third of the time tests wait.
    maxWorkers: 3,
    // The tests ignore the configuration of the person who runs them.
    env: { COTENANT_CONFIG: "" },
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
});
