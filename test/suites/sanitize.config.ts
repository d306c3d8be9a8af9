import { defineConfig } from "vitest/config";

const native = ["test/interposer/*.test.ts", "test/softgpu/*.test.ts", "test/nccl/alone.test.ts"];
const project = (sanitizer: "thread" | "address", include: string[]) => ({
  test: {
    name: sanitizer,
    include,
    env: { COTENANT_SANITIZE: sanitizer },
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
});

// The native parts' tests with the builds that `npm run sanitize` makes.
export default defineConfig({
  test: {
    // The gate is called by one thread, and Node can't load what ThreadSanitizer instruments.
    projects: [project("thread", native), project("address", [...native, "test/gate/*.test.ts"])],
    reporters: ["default", "./test/count-reporter.ts"],
    maxWorkers: 2,
  },
});
