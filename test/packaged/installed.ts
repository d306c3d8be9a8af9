// The package, installed as a user installs it: from the file, without a network, a cache or a compiler.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

/** Tools on the machine of a user. Examples are programs of Python; the rest is for npm and for scripts. */
const tools = ["npm", "sh", "env", "python3", "dirname", "readlink", "sed", "uname"];

export interface Installed {
  /** Where the package was installed to. */
  readonly root: string;
  /** A folder of the user's own, in which commands run. */
  readonly home: string;
  readonly env: Readonly<Record<string, string>>;
  /** Runs a line of shell there. */
  sh(line: string, env?: Readonly<Record<string, string>>): Ended;
  remove(): void;
}

interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export function install(): Installed {
  const folder = mkdtempSync(join(tmpdir(), "cotenant-packaged-"));
  const at = (name: string) => join(folder, name);
  for (const name of ["tools", "home", "prefix", "cache"]) mkdirSync(at(name));
  symlinkSync(process.execPath, at("tools/node"));
  for (const tool of tools) symlinkSync(pathOf(tool), join(at("tools"), tool));
  const said = execFileSync(process.execPath, ["scripts/package.mjs", folder], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [file = ""] = said.split(" (");
  const env = {
    PATH: `${at("prefix/bin")}:${at("tools")}`,
    HOME: at("home"),
    COTENANT_DIR: at("run"),
  };
  const sh = (line: string, more: Readonly<Record<string, string>> = {}) => {
    const { status, stdout, stderr } = spawnSync("sh", ["-c", line], {
      encoding: "utf8",
      cwd: at("home"),
      env: { ...env, ...more },
    });
    return { status, stdout, stderr };
  };
  const options = `--global --offline --cache ${at("cache")} --prefix ${at("prefix")}`;
  const done = sh(`npm install ${options} ${join(folder, basename(file))}`);
  if (done.status !== 0) throw new Error(`npm install failed: ${done.stderr}`);
  return {
    root: at("prefix/lib/node_modules/cotenant"),
    home: at("home"),
    env,
    sh,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Python's own program: the one in PATH may be a script that needs more than there is here. */
export const pathOf = (tool: string): string =>
  execFileSync(
    "sh",
    [
      "-c",
      tool === "python3" ? `${tool} -c "import sys; print(sys.executable)"` : `command -v ${tool}`,
    ],
    { encoding: "utf8" },
  ).trim();
