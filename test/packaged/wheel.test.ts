// The wheel, installed by pip as a user of Python installs it, on a machine without a Node of its own. Its Node comes from
// PyPI.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { pathOf } from "./installed.ts";

const folder = mkdtempSync(join(tmpdir(), "cotenant-wheel-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const at = (...names: readonly string[]) => join(folder, ...names);

/** Runs a program; throws its output if it fails. */
function run(program: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env) {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: "utf8", env });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")}: ${status}\n${stdout}${stderr}`);
  return stdout;
}

const python = pathOf("python3");
const { version } = JSON.parse(readFileSync("package.json", "utf8"));
let wheel = "";

beforeAll(() => {
  for (const name of ["tools", "home", "once", "twice"]) mkdirSync(at(name));
  for (const tool of ["sh", "env", "readlink", "grep", "base64"])
    symlinkSync(pathOf(tool), at("tools", tool));
  const packed = run(process.execPath, ["scripts/package.mjs", folder]).split(" (")[0] ?? "";
  for (const name of ["once", "twice"]) run(python, ["scripts/wheel.py", packed, at(name)]);
  wheel = at("once", readdirSync(at("once"))[0] ?? "");
});

/** How people install, with the folder of the commands, and the Python that has the package. */
const ways = {
  "a virtual environment": () => {
    run(python, ["-m", "venv", at("venv")]);
    run(at("venv/bin/python"), ["-m", "pip", "install", "--quiet", wheel]);
    return { bin: at("venv/bin"), python: at("venv/bin/python"), env: {} };
  },
  "a user's own packages": () => {
    const env = { PYTHONUSERBASE: at("userbase"), PIP_BREAK_SYSTEM_PACKAGES: "1" };
    const words = ["-m", "pip", "install", "--quiet", "--user", wheel];
    run(python, words, { ...process.env, ...env });
    return { bin: at("userbase/bin"), python, env };
  },
  "a tool, whose commands are links": () => {
    ways["a virtual environment"]();
    mkdirSync(at("links"));
    for (const name of ["cotenant", "cotenant-lab"])
      symlinkSync(at("venv/bin", name), at("links", name));
    return { bin: at("links"), python: at("venv/bin/python"), env: {} };
  },
};

describe.each(Object.entries(ways))("installed as %s", (_, install) => {
  let installed: ReturnType<typeof install>;
  beforeAll(() => {
    installed = install();
  });
  const env = () => ({
    PATH: `${installed.bin}:${at("tools")}`,
    HOME: at("home"),
    COTENANT_DIR: at("run"),
    ...installed.env,
  });
  const sh = (line: string) => run("sh", ["-c", line], env());
  afterEach(() => spawnSync("sh", ["-c", "cotenant down"], { env: env() }));

  test("a service and a training share the software GPU", () => {
    expect(sh("cotenant --version").trim()).toBe(version);
    const prefix = sh("readlink -f $(command -v cotenant)").trim().replace("/bin/cotenant", "");
    expect(readFileSync(join(prefix, "share/man/man1/cotenant.1"), "utf8")).toContain(version);
    sh("cotenant up --gpu soft");
    sh(
      "cotenant run --class best-effort --name train -- cotenant load --arrivals closed --seconds 20 >/dev/null 2>&1 &",
    );
    sh("cotenant run --class high --name serve -- cotenant load --rate 20 --seconds 2");
    expect(sh("cotenant events")).toMatch(/attached client=serve class=high/);
  });

  test("programs of Python inform Cotenant, and vLLM and SGLang find the plugin", () => {
    const groups = ["vllm.general_plugins", "sglang.srt.plugins"];
    const text = [
      "import cotenant, importlib.metadata as m",
      `print(cotenant.role(), *(e.name for g in ${JSON.stringify(groups)} for e in m.entry_points(group=g)))`,
    ].join("\n");
    const found = run(installed.python, ["-c", text], { ...process.env, ...installed.env });
    expect(found).toBe("None cotenant cotenant\n");
  });

  test("the laboratory is there, and says where Z3 is", () => {
    expect(sh("cotenant-lab --help")).toContain("soc");
    const plan = `$(dirname $(dirname $(readlink -f ${installed.bin}/cotenant)))/share/cotenant/bench/soc/googlenet-xavier.json`;
    symlinkSync(pathOf("dirname"), at("tools/dirname"));
    const { stderr } = spawnSync("sh", ["-c", `cotenant-lab soc plan ${plan} --z3`], {
      encoding: "utf8",
      env: env(),
    });
    rmSync(at("tools/dirname"));
    expect(stderr).toContain("Z3 is not here: Cotenant's wheel leaves it out.");
  });
});

test("two wheels of one package are equal", () => {
  const [once, twice] = ["once", "twice"].map((name) =>
    readdirSync(at(name)).map((file) =>
      createHash("sha256")
        .update(readFileSync(at(name, file)))
        .digest("hex"),
    ),
  );
  expect(once).toHaveLength(1);
  expect(once).toEqual(twice);
});

test.each(["cotenant", "cotenant-lab"])("%s refuses a Node that is too old", (name) => {
  const older = 'Object.defineProperty(process, "versions", { value: { node: "18.20.8" } })';
  const { status, stderr } = spawnSync(
    process.execPath,
    ["--import", `data:text/javascript,${older}`, `bin/${name}`, "--version"],
    { encoding: "utf8" },
  );
  expect(status).toBe(1);
  expect(stderr).toBe(
    `${name}: Node 18.20.8 is too old: install Node 20.19 or newer, or name one in COTENANT_NODE.\n`,
  );
});
