// For tests: a person at a terminal, with a folder of files. What commands print is kept from the test's own output.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { afterAll, afterEach, beforeEach, expect, vi } from "vitest";
import { dispatch, type Program, cotenant as product } from "#cli";
import { UserError } from "#core";

export interface Person {
  readonly folder: string;
  /** Writes text, or a document as JSON, into the folder; its path. */
  write(name: string, content: string | object): string;
  /** Runs a command that must succeed, and reads what it prints to stdout. */
  cotenant(...argv: string[]): Promise<string>;
  /** Runs a command that must be refused: the sentence and the cure. */
  refusal(...argv: string[]): Promise<string>;
  /** Lines of the last command on stderr. */
  noted(): readonly string[];
}

/**
 * To be called at the top of a test file, once. `name`: what the file is about, for its folder. `program`: what `cotenant` and
 * `refusal` run.
 */
export function person(name: string, program: Program = product): Person {
  const folder = mkdtempSync(`${tmpdir()}/cotenant-${name}-`);
  afterAll(() => rmSync(folder, { recursive: true }));
  let said: string[] = [];
  let noted: string[] = [];
  beforeEach(() => {
    vi.spyOn(console, "log").mockImplementation((line) => void said.push(String(line)));
    vi.spyOn(console, "error").mockImplementation((line) => void noted.push(String(line)));
  });
  afterEach(() => void vi.restoreAllMocks());
  return {
    folder,
    write(file, content) {
      const text = typeof content === "string" ? content : JSON.stringify(content);
      writeFileSync(`${folder}/${file}`, text);
      return `${folder}/${file}`;
    },
    async cotenant(...argv) {
      said = [];
      noted = [];
      expect(await dispatch(program, argv)).toBe(0);
      return said.join("\n");
    },
    async refusal(...argv) {
      const error = await dispatch(program, argv).catch((thrown: unknown) => thrown);
      if (!(error instanceof UserError)) throw error;
      return [error.message, error.hint].filter(Boolean).join(" ");
    },
    noted: () => noted,
  };
}

/** The error for a person that `run` throws. */
export function errorOf(run: () => unknown): UserError {
  try {
    run();
  } catch (error) {
    if (error instanceof UserError) return error;
    throw error;
  }
  throw new Error("nothing was wrong");
}
