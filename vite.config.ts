import { defineConfig } from "vite";

// One file a person can carry to another machine, beside koffi's binary.
export default defineConfig({
  build: {
    target: "node20",
    outDir: "dist",
    rolldownOptions: { output: { entryFileNames: "cotenant.js" }, external: ["koffi"] },
  },
  ssr: { noExternal: true, external: ["koffi"] },
});
