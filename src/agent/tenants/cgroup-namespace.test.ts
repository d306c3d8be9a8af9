import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { fromRoot } from "./cgroup-namespace.ts";

/** Where this machine has cgroup v2; some have it beside v1. */
const mount = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"].find((path) =>
  existsSync(join(path, "cgroup.controllers")),
);
const why =
  process.getuid?.() === 0 && mount !== undefined ? undefined : "this needs root and cgroup v2";
if (why !== undefined) console.error(`SKIPPED: a cgroup namespace, because ${why}`);

test.each([
  ["/../../b.slice/c.scope", "/a.slice/b.slice/c.scope"],
  ["/../../../init.scope", "/init.scope"],
  ["/", "/a.slice/own.slice/own.scope"],
  ["/below", "/a.slice/own.slice/own.scope/below"],
])("a cgroup that is seen as %s is %s", (seen, path) => {
  const text = `1:name=systemd:/x\n0::${seen}\n`;
  expect(originOf(fromRoot(text, "/a.slice/own.slice/own.scope"))).toBe(path.replace(/\/$/, ""));
  expect(fromRoot(text, "")).toBe(text);
});

const originOf = (text: string) => /^0::(.*)$/m.exec(text)?.[1]?.replace(/\/$/, "");

test.skipIf(why !== undefined)(
  "from a cgroup namespace of its own a process finds the cgroups beside its own",
  async () => {
    const top = `/cotenant-test-${process.pid}`;
    const [own, other] = [`${top}/pods/own`, `${top}/pods/other`];
    const [machine = ""] = [mount];
    for (const path of [own, other]) mkdirSync(join(machine, path), { recursive: true });
    const sleeper = spawn("sleep", ["300"]);
    const ended = new Promise((resolve) => sleeper.on("close", resolve));
    onTestFinished(async () => {
      sleeper.kill("SIGKILL");
      await ended;
      for (const path of [own, other, `${top}/pods`, top]) rmdirSync(join(machine, path));
    });
    writeFileSync(join(machine, other, "cgroup.procs"), `${sleeper.pid}`);
    const program = `
      const { fromRoot, namespaceBegin } = await import(${JSON.stringify(new URL("cgroup-namespace.ts", import.meta.url).href)});
      const { readFileSync } = await import("node:fs");
      const begin = namespaceBegin(${JSON.stringify(machine)});
      const seen = readFileSync("/proc/${sleeper.pid}/cgroup", "utf8");
      console.log(JSON.stringify({ begin, seen, found: fromRoot(seen, begin) }));`;
    const script = `echo $$ > ${join(machine, own, "cgroup.procs")}; exec unshare --cgroup "$@"`;
    const words = [process.execPath, "--import", "tsx", "--input-type=module", "-e", program];
    const said = JSON.parse(
      execFileSync("sh", ["-c", script, "sh", ...words], { encoding: "utf8" }),
    );
    expect(said.seen).toContain("0::/../other\n");
    expect(said.begin).toBe(own);
    expect(said.found).toContain(`0::${other}\n`);
    expect(readFileSync(`/proc/${sleeper.pid}/cgroup`, "utf8")).toContain(`0::${other}\n`);
  },
);
