import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { build, defineConfig, type InlineConfig, type Plugin } from "vite";
import { thirdParty } from "./scripts/third-party.ts";

const at = (path: string) => join(import.meta.dirname, path);
const isOurs = (id: string) => id.startsWith(at("src/")) || id.startsWith(at("lab/"));

/**
 * A program, and files of what several of its commands share, so that each loads only what it needs. The folder can be
 * carried to another machine, with koffi's binary.
 */
const program = (name: string, entry: string, outDir: string): InlineConfig => ({
  build: {
    target: "node20",
    outDir,
    ssr: entry,
    rolldownOptions: {
      output: { entryFileNames: `${name}.js`, chunkFileNames: "[name]-[hash].js" },
      // Else a command would load all of a room of which it needs one function.
      treeshake: { moduleSideEffects: (id) => !isOurs(id) || id === at(entry) },
      external: ["koffi"],
    },
  },
  ssr: { noExternal: true, external: ["koffi"] },
});

const others = thirdParty();

/** The dashboard's page, bundled beside the commands: three files, which the agent serves. */
const page: Plugin = {
  name: "dashboard-page",
  async closeBundle() {
    await build({
      configFile: false,
      root: "src/dashboard/page",
      logLevel: "warn",
      plugins: [others.plugin],
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

/** The laboratory has a bundle of its own: files shared with it would be more and smaller ones, which start slower. */
const laboratory: Plugin = {
  name: "laboratory",
  async closeBundle() {
    await build({
      configFile: false,
      logLevel: "warn",
      plugins: [others.plugin],
      ...program("cotenant-lab", "lab/cli/main.ts", "dist/lab"),
    });
  },
};

/** Written when all bundles are made. */
const notices: Plugin = {
  name: "notices",
  closeBundle: { order: "post", sequential: true, handler: () => others.write("dist") },
};

export default defineConfig({
  plugins: [others.plugin, page, laboratory, notices],
  ...program("cotenant", "src/cli/main.ts", "dist"),
});
