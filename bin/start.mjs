import { fileURLToPath } from "node:url";

/** Runs a program of the package. `bundle`: its file, relative to this one. Names a Node that is too old, and a clone that is not built. */
export async function start(name, bundle) {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major < 20 || (major === 20 && minor < 19)) {
    console.error(
      `${name}: Node ${process.versions.node} is too old: install Node 20.19 or newer, or name one in COTENANT_NODE.`,
    );
    process.exit(1);
  }
  try {
    await import(bundle);
  } catch (error) {
    if (error?.code !== "ERR_MODULE_NOT_FOUND") throw error;
    const root = fileURLToPath(new URL("..", import.meta.url));
    console.error(
      `${name}: ${root} is not built. Run "npm start" there once: it installs, builds and runs a demo.`,
    );
    process.exitCode = 1;
  }
}
