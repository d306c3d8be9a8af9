import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/packaged/*.test.ts"],
    reporters: ["default", "./test/count-reporter.ts"],
    maxWorkers: 2,
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
});
