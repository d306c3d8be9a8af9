// A real terminal: tmux, with a shell in it. Tests that need it are skipped where it is missing.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { temporaryDirectory } from "../agent/fakes.ts";

const TMUX = "/usr/bin/tmux";
/** Only a machine that stands still takes so long. */
const WITHIN = { timeout: 300_000 };

export const hasTmux = existsSync(TMUX);
if (!hasTmux)
  console.warn(
    `SKIPPED: tests of "cotenant top" in a terminal, because ${TMUX} is missing (Debian: apt-get install tmux).`,
  );

export interface Terminal {
  /** Keys as tmux names them, or text. */
  type(...keys: readonly string[]): void;
  /** Until the screen shows it; the screen. */
  shows(pattern: RegExp): Promise<string>;
  /** Until it does not show it. */
  hides(pattern: RegExp): Promise<void>;
  /** Lines, without blanks at their ends. */
  screen(): string;
  /** With the codes of its colours. */
  coloured(): string;
  resize(columns: number, rows: number): void;
  /** Whether a program has the alternate screen, and whether the cursor is shown. */
  state(): { readonly alternate: boolean; readonly cursor: boolean };
  /** The process that the shell runs now. */
  child(): number;
}

export function terminal(
  columns: number,
  rows: number,
  env: Readonly<Record<string, string>> = {},
): Terminal {
  const server = ["-u", "-S", join(temporaryDirectory(), "tmux"), "-f", "/dev/null"];
  const tmux = (...args: readonly string[]) =>
    execFileSync(TMUX, [...server, ...args], {
      encoding: "utf8",
      env: { ...process.env, LC_ALL: "C.UTF-8", NO_COLOR: "", PS1: "$ ", ...env },
    });
  tmux("new-session", "-d", "-x", `${columns}`, "-y", `${rows}`, "exec bash --norc --noprofile");
  onTestFinished(() => void tmux("kill-server"));
  const capture = (...args: readonly string[]) =>
    tmux("capture-pane", "-p", ...args).replace(/ +$/gm, "");
  const ask = (what: string) => tmux("display-message", "-p", what).trim();
  return {
    type: (...keys) => void tmux("send-keys", ...keys),
    async shows(pattern) {
      await expect.poll(() => capture(), WITHIN).toMatch(pattern);
      return capture();
    },
    hides: (pattern) => expect.poll(() => capture(), WITHIN).not.toMatch(pattern),
    screen: () => capture(),
    coloured: () => capture("-e"),
    resize: (wide, high) => void tmux("resize-window", "-x", `${wide}`, "-y", `${high}`),
    state: () => ({
      alternate: ask("#{alternate_on}") === "1",
      cursor: ask("#{cursor_flag}") === "1",
    }),
    child: () => Number(execFileSync("pgrep", ["-P", ask("#{pane_pid}")], { encoding: "utf8" })),
  };
}
