// A message between the launcher (native/launcher) and the agent consists of words, each of which
// ends with a zero. A request is the launcher's package folder, the number of its arguments, these,
// and its environment.

export type LaunchAnswer =
  | {
      /** It is an index into the launcher's arguments. */
      readonly program: number;
      readonly variables: Readonly<Record<string, string>>;
      readonly message: string;
    }
  | { readonly message: string; readonly status: number };

export interface LaunchWords {
  readonly root: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

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
