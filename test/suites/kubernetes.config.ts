import { defineConfig } from "vitest/config";

// One cluster for all files: its programs take a gigabyte.
export default defineConfig({
  test: {
    include: [
      "test/kubernetes/*.test.ts",
      "test/kubernetes/{admission,manager,controllers}/*.test.ts",
    ],
    reporters: ["default", "./test/count-reporter.ts"],
    maxWorkers: 1,
    testTimeout: 2_400_000,
    hookTimeout: 1_200_000,
  },
});
