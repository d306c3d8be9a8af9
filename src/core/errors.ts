// Every message a user can meet, in one place: a stable code, a sentence that names the culprit, and
// the cure where there is one. A bug is a plain throw. Exit status 2 is wrong use, 1 is "failed".

export class UserError extends Error {
  readonly code: string;
  readonly hint: string;
  readonly exitStatus: 1 | 2;

  constructor(code: string, message: string, hint = "", exitStatus: 1 | 2 = 1) {
    super(message);
    this.name = "UserError";
    this.code = code;
    this.hint = hint;
    this.exitStatus = exitStatus;
  }
}

/** Wrong use of a command: exit status 2. */
export const usage = (message: string, hint = "") => new UserError("USAGE", message, hint, 2);

export const badQuantity = (text: string, wanted: string) => usage(`"${text}" is not ${wanted}.`);

export const directoryNotOurs = (path: string, why: string) =>
  new UserError(
    "DIRECTORY_NOT_OURS",
    `The directory ${path} ${why}.`,
    "Remove it, or set COTENANT_DIR to a directory that only you can enter.",
  );
