// Packages of this clone's build, as they are installed.
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "../machine.ts";

/** A package as it is installed: no sources, and the files that an agent and its clients use. */
export function installed(version: string, root = join(temporaryDirectory(), "cotenant")): string {
  mkdirSync(root, { recursive: true });
  const libraries = ["libcotenant.so", "libcotenant-gate.so", "libcotenant-nccl.so"];
  const built = [...libraries, "cotenant", "cotenant-ptxas"];
  for (const part of [
    ...["bin", "dist", "node_modules/koffi", "node_modules/@koromix", "build/native/softgpu"],
    ...[...built, "cotenant-ptxas-blackwell"].map((name) => `build/native/${name}`),
  ])
    cpSync(part, join(root, part), {
      recursive: true,
      filter: (path) => !path.endsWith("/objects"),
    });
  const own = JSON.parse(readFileSync("package.json", "utf8"));
  writeFileSync(join(root, "package.json"), JSON.stringify({ ...own, version }));
  return root;
}
