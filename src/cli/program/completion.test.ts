// The scripts in the shells that read them.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { describe, expect, onTestFinished, test } from "vitest";
import { cotenant } from "../commands.ts";
import { completionScript, type Shell, shells } from "./completion.ts";
import { commandsOf } from "./program.ts";

const isHere = (shell: Shell) => spawnSync(shell, ["-c", "true"]).status === 0;
for (const shell of shells)
  if (!isHere(shell)) console.error(`SKIPPED: completion in ${shell}, which is not installed.`);

const commands = await commandsOf(cotenant);

function script(shell: Shell, program = "cotenant"): string {
  const folder = mkdtempSync(`${tmpdir()}/cotenant-completion-`);
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(`${folder}/script`, completionScript(shell, program, commands));
  return `${folder}/script`;
}

function run(shell: Shell, code: string): readonly string[] {
  const { stdout, stderr, status } = spawnSync(shell, ["-c", code], { encoding: "utf8" });
  expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
  return stdout.split("\n").filter(Boolean);
}

const cases = [
  { line: "cotenant sta", offers: ["status"] },
  { line: "cotenant do", offers: ["down", "doctor"] },
  { line: "cotenant up --mo", offers: ["--mode"] },
  { line: "cotenant up --mode ", offers: ["isolated", "mps"] },
  { line: "cotenant run --class h", offers: ["high"] },
  { line: "cotenant profile sh", offers: ["show"] },
];

describe.skipIf(!isHere("bash"))("bash", () => {
  test.each(cases)('"$line" is completed', ({ line, offers }) => {
    const words = line.split(" ");
    const code = `. ${script("bash")}
      COMP_WORDS=(${words.map((word) => `"${word}"`).join(" ")}) COMP_CWORD=${words.length - 1}
      _cotenant; printf '%s\\n' "\${COMPREPLY[@]}"`;
    expect(new Set(run("bash", code))).toEqual(new Set(offers));
  });

  test("behind -- nothing of Cotenant is offered", () => {
    const code = `. ${script("bash")}
      COMP_WORDS=(cotenant run -- python3 --cl) COMP_CWORD=4
      _cotenant; printf '%s' "\${COMPREPLY[@]}"`;
    expect(run("bash", code)).toEqual([]);
  });
});

describe.skipIf(!isHere("bash"))("a program whose name has a hyphen", () => {
  test("is completed by a function of its own", () => {
    const code = `. ${script("bash", "cotenant-lab")}
      COMP_WORDS=(cotenant-lab sta) COMP_CWORD=1
      _cotenant_lab; printf '%s\\n' "\${COMPREPLY[@]}"; complete -p cotenant-lab`;
    expect(run("bash", code)).toEqual([
      "status",
      "complete -o default -F _cotenant_lab cotenant-lab",
    ]);
  });
});

describe.skipIf(!isHere("fish"))("fish", () => {
  test.each(cases)('"$line" is completed', ({ line, offers }) => {
    const code = `source ${script("fish")}; complete --do-complete "${line}"`;
    const found = run("fish", code).map((one) => one.split("\t")[0]);
    expect(new Set(found)).toEqual(new Set(offers));
  });
});

describe.skipIf(!isHere("zsh"))("zsh", () => {
  test("the script is one that zsh can read, and it defines the function", () => {
    const code = `autoload -U compinit; compinit -u -D; . ${script("zsh")}; whence -w _cotenant; echo $_comps[cotenant]`;
    expect(run("zsh", code)).toEqual(["_cotenant: function", "_cotenant"]);
  });
});
