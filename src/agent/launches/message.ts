// Messages between the launcher (native/launcher) and the rest of the package about a command line of "cotenant run": words, each
// of which ends with a zero. A request is the launcher's package folder, the number of its arguments, these, and its
// environment.

/** How the launcher becomes its program. */
export type LaunchAnswer =
  | {
      /** The program is this one of the launcher's arguments. */
      readonly program: number;
      /** Variables that are added to the launcher's environment, or replace those there. */
      readonly variables: Readonly<Record<string, string>>;
      /** Lines for stderr before the program starts; empty: none. */
      readonly message: string;
    }
  | { readonly message: string; readonly status: number };

export interface LaunchWords {
  readonly root: string;
  /** The first is the launcher's own name. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** undefined: these are not the words of a launcher. */
export function parseLaunch(bytes: Uint8Array): LaunchWords | undefined {
  const text = Buffer.from(bytes).toString();
  if (!text.endsWith("\0")) return undefined;
  const [root = "", count = "", ...words] = text.slice(0, -1).split("\0");
  const args = Number(count);
  if (!root.startsWith("/") || !(args > 0 && args <= words.length)) return undefined;
  return {
    root,
    args: words.slice(0, args),
    env: Object.fromEntries(
      words
        .slice(args)
        .filter((word) => word.includes("="))
        .map((word) => [word.slice(0, word.indexOf("=")), word.slice(word.indexOf("=") + 1)]),
    ),
  };
}

/** `env`: the launcher's environment. */
export function encodeAnswer(
  answer: LaunchAnswer,
  env: Readonly<Record<string, string | undefined>>,
): Uint8Array {
  const words =
    "program" in answer
      ? [
          "start",
          String(answer.program),
          answer.message,
          ...Object.entries(answer.variables).map(([name, value]) =>
            setting(name, value, env[name]),
          ),
        ]
      : ["end", String(answer.status), answer.message];
  return Buffer.from(words.map((word) => `${word}\0`).join(""));
}

/** The launcher has the bytes of the old value, which need not be text. */
function setting(name: string, value: string, old: string | undefined): string {
  const added = old ? value.length - old.length - 1 : 0;
  return added > 0 && value.slice(added) === `:${old}`
    ? `+${name}=${value.slice(0, added)}`
    : `=${name}=${value}`;
}
