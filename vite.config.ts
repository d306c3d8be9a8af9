import { copyFileSync } from "node:fs";
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

// One file a person can carry to another machine, beside koffi's binary and the dashboard's page.
export default defineConfig({
  plugins: [page],
  build: {
    target: "node20",
    outDir: "dist",
    rolldownOptions: {
      output: { entryFileNames: "cotenant.js", codeSplitting: false },
      external: ["koffi"],
    },
  },
  ssr: { noExternal: true, external: ["koffi"] },
});
