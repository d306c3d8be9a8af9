import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.soak.test.ts"],
    reporters: ["default", "./test/count-reporter.ts"],
    maxWorkers: 1,
    testTimeout: 3_600_000,
  },
});
