import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/slow/*.test.ts"],
    reporters: ["default", "./test/count-reporter.ts"],
    maxWorkers: 1,
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
});
