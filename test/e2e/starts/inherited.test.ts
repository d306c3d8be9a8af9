// A program inherits ignored signals, and variables of any name, through `cotenant run`.
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { command, emptyMachine } from "../machine.ts";

const signals = ["grep", "-E", "^Sig(Ign|Blk|Cgt):", "/proc/self/status"];
const run = [command, "run", "--class", "high", "--"];

/** The outputs of a program under `run` and without it. */
async function both(program: readonly string[], first: readonly string[] = [], env = {}) {
  const machine = emptyMachine(env);
  const said = async (words: readonly string[]) => {
    const { status, stdout, stderr } = await machine.elsewhere([...first, ...words]).ended;
    expect({ status, stderr }).toMatchObject({ status: 0 });
    return stdout;
  };
  return [await said([...run, ...program]), await said(program)] as const;
}

test.each([
  ["none", "true", 0n],
  ["SIGHUP, as under nohup,", "trap '' HUP", 1n],
  ["SIGPIPE, as of a service,", "trap '' PIPE", 1n << 12n],
  ["SIGINT", "trap '' INT", 1n << 1n],
  ["several", "trap '' INT QUIT TERM USR1 PIPE XFSZ", 0x1005206n],
])("when %s is ignored, the program ignores the same signals", async (_, before, mask) => {
  const [under, natively] = await both(signals, ["sh", "-c", `${before}; exec "$@"`, "sh"]);
  expect(under).toBe(natively);
  const [, ignored = ""] = /SigIgn:\s+(\S+)/.exec(natively) ?? [];
  expect(BigInt(`0x${ignored}`) & mask).toBe(mask);
});

const hasBash = spawnSync("bash", ["-c", "exit"]).status === 0;
if (!hasBash) console.warn("SKIPPED: /bin/sh that is bash, because there is no bash.");

test.skipIf(!hasBash)("nothing more is ignored where /bin/sh is bash", async () => {
  const machine = emptyMachine();
  const { stdout } = await machine.elsewhere(["bash", "--posix", ...run, ...signals]).ended;
  expect(stdout).toBe((await machine.elsewhere(signals).ended).stdout);
});

test("a training that was started with nohup lives when its terminal closes", async () => {
  const machine = emptyMachine();
  const program = ["sh", "-c", "echo started >&2; sleep 0.2; kill -HUP $$; echo lives"];
  const { stdout } = await machine.elsewhere(["nohup", ...run, ...program]).ended;
  expect(stdout).toBe("lives\n");
});

test("a program has variables whose names are no shell's, and none that only report them", async () => {
  const odd = { "my.setting": "a b\n=c", "BASH_FUNC_module%%": "() {  :\n}" };
  const [under, natively] = await both(["env", "-0"], [], odd);
  const of = (text: string) =>
    text.split("\0").filter((one) => !/^(COTENANT_|LD_PRELOAD|_=)/.test(one));
  expect(of(under).toSorted()).toEqual(of(natively).toSorted());
  expect(under).not.toMatch(/COTENANT_(IGNORED|VARIABLES)/);
});
