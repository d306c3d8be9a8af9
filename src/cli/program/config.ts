// Each command has a table, whose keys are the names of its options.
import { homedir } from "node:os";
import { parse, TomlError } from "smol-toml";
import { errors, Field, isFile, readGiven, UserError, usage, withPlace } from "#core";
import { type CommandLine, type Option, presentName } from "./command.ts";

/** The user's file counts more than the machine's. COTENANT_CONFIG names another; empty: none. */
export function configFiles(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  if (env.COTENANT_CONFIG !== undefined) return env.COTENANT_CONFIG ? [env.COTENANT_CONFIG] : [];
  return [
    "/etc/cotenant/config.toml",
    `${env.HOME || homedir()}/.config/cotenant/config.toml`,
  ].filter(isFile);
}

/** Later files override earlier ones. Throws a UserError that names file and key. */
export function readConfig(
  { name, options }: CommandLine,
  tables: readonly string[],
  files: readonly string[],
  note: (sentence: string) => void = () => {},
): ReadonlyMap<string, unknown> {
  return new Map(
    files.flatMap((file) => {
      const given = readToml(file).only(tables).at(name);
      if (given.missing) return [];
      return given
        .only(
          Object.keys(options),
          Object.values(options).flatMap(({ formerly }) => formerly ?? []),
        )
        .entries()
        .map(([key, field]) => {
          const present = presentName(options, key) ?? key;
          if (present !== key) note(errors.formerName(`${file}: ${key}`, present));
          return [present, optionValue(options[present] as Option, field)] as const;
        });
    }),
  );
}

function readToml(file: string): Field {
  const refuse = (path: string, place: string, what: string, hint?: string) =>
    usage(withPlace(path, place, what), hint);
  try {
    return new Field(parse(readGiven(file, "configuration")), file, refuse);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [what = ""] = error.message.split("\n");
    throw refuse(file, `line ${error.line}`, `${what}.`);
  }
}

function optionValue(option: Option, field: Field): unknown {
  if (option.kind === "flag") return field.boolean();
  if (option.kind === "list") return field.list().flatMap((one) => parseText(option, one));
  return parseText(option, field);
}

/** Numbers may stand without quotes. */
function parseText(option: Option, field: Field): unknown {
  const text = typeof field.value === "number" ? String(field.value) : field.text();
  try {
    return option.parse(text);
  } catch (error) {
    throw error instanceof UserError ? errors.badOption(field.place, error) : error;
  }
}
