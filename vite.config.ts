import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { build, defineConfig, type Plugin } from "vite";

/** The dashboard's page, bundled beside the commands: three files, which the agent serves. */
const page: Plugin = {
  name: "dashboard-page",
  async closeBundle() {
    await build({
      configFile: false,
      root: "src/dashboard/page",
      logLevel: "warn",
      build: {
        outDir: "../../../dist/dashboard",
        emptyOutDir: true,
        target: "es2023",
        modulePreload: false,
        rolldownOptions: {
          input: "src/dashboard/page/page.ts",
          output: { entryFileNames: "page.js", assetFileNames: "page.[ext]" },
        },
      },
    });
    copyFileSync("src/dashboard/page/index.html", "dist/dashboard/index.html");
  },
};

const sources = join(import.meta.dirname, "src/");
const entry = join(sources, "cli/main.ts");

// The command, and files of what several commands share, so that each loads only what it needs. The folder can be carried
// to another machine, with koffi's binary.
export default defineConfig({
  plugins: [page],
  build: {
    target: "node20",
    outDir: "dist",
    rolldownOptions: {
      output: { entryFileNames: "cotenant.js", chunkFileNames: "[name]-[hash].js" },
      // Else a command would load all of a room of which it needs one function.
      treeshake: { moduleSideEffects: (id) => !id.startsWith(sources) || id === entry },
      external: ["koffi"],
    },
  },
  ssr: { noExternal: true, external: ["koffi"] },
});
