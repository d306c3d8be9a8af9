import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["{src,lab,test}/**/*.slow.test.ts"],
    reporters: ["default", "./test/count-reporter.ts"],
    maxWorkers: 1,
    env: { COTENANT_CONFIG: "" },
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
});
