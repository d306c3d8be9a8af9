import { tryWrite } from "#core";
import type { Log } from "../log/log.ts";
import { Trouble } from "../log/trouble.ts";
import {
  type AgentFile,
  fileIdentity,
  pathsIn,
  readAgentFile,
  removeAgentFile,
  writeAgentFile,
} from "./state.ts";

export class Notes {
  readonly #directory: string;
  readonly #file: () => AgentFile;
  readonly #unwritten: Trouble;
  readonly #lock: string | undefined;

  constructor(directory: string, file: () => AgentFile, log: Log) {
    this.#directory = directory;
    this.#file = file;
    this.#unwritten = new Trouble(log, "notes not written");
    this.#lock = fileIdentity(pathsIn(directory).lock);
  }

  begin(): void {
    tryWrite(pathsIn(this.#directory).file, () => writeAgentFile(this.#directory, this.#file()));
  }

  write(): void {
    if (!this.#isOurs()) return;
    try {
      writeAgentFile(this.#directory, this.#file());
      this.#unwritten.end();
    } catch (error) {
      // A full disk must not end the protection of clients: the next change tries again.
      this.#unwritten.note(error);
    }
  }

  /** Writes a removed file again. Returns undefined without a directory, false if it is taken. */
  look(): boolean | undefined {
    const ours = this.#isOurs();
    if (ours && readAgentFile(this.#directory)?.pid !== process.pid) this.write();
    return ours;
  }

  end(needed: boolean): void {
    if (!this.#isOurs()) return;
    if (needed) this.write();
    else removeAgentFile(this.#directory);
  }

  #isOurs(): boolean | undefined {
    const lock = fileIdentity(pathsIn(this.#directory).lock);
    return lock === undefined ? undefined : lock === this.#lock;
  }
}
