// The agent's own file in its run directory (agent.json): commands and clients find the agent by it, and the next agent this
// one's clients.
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

  /** `file`: what is to be noted now. The directory is locked by this process. */
  constructor(directory: string, file: () => AgentFile, log: Log) {
    this.#directory = directory;
    this.#file = file;
    this.#unwritten = new Trouble(log, "notes not written");
    this.#lock = fileIdentity(pathsIn(directory).lock);
  }

  /** Throws a UserError where it can't be written, as on a full disk: nobody would find the agent. */
  begin(): void {
    tryWrite(pathsIn(this.#directory).file, () => writeAgentFile(this.#directory, this.#file()));
  }

  /** Clients have come or gone. */
  write(): void {
    if (!this.#isOurs()) return;
    try {
      writeAgentFile(this.#directory, this.#file());
      this.#unwritten.end();
    } catch (error) {
      // A full disk must not end the protection of those who are here: the next change tries again.
      this.#unwritten.note(error);
    }
  }

  /** Writes what somebody has removed. Returns whether the directory is ours: undefined if it was removed, false if another agent has it now. */
  look(): boolean | undefined {
    const ours = this.#isOurs();
    if (ours && readAgentFile(this.#directory)?.pid !== process.pid) this.write();
    return ours;
  }

  /** The agent ends. `needed`: the next one looks for clients of this one. */
  end(needed: boolean): void {
    if (!this.#isOurs()) return;
    if (needed) this.write();
    else removeAgentFile(this.#directory);
  }

  /** undefined: somebody has removed the directory. False: another agent has made it again. */
  #isOurs(): boolean | undefined {
    const lock = fileIdentity(pathsIn(this.#directory).lock);
    return lock === undefined ? undefined : lock === this.#lock;
  }
}
