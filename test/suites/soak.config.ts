import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["{src,lab,test}/**/*.soak.test.ts"],
    reporters: ["default", "./test/count-reporter.ts"],
    maxWorkers: 1,
    // Progress is of use while it is made.
    disableConsoleIntercept: true,
    testTimeout: 7_200_000,
  },
});
