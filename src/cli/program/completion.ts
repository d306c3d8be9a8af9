// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the scripts use it
import { type Command, firstWords, type Option, runsProgram } from "./command.ts";

export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

export function completionScript(
  shell: Shell,
  program: string,
  commands: readonly Command[],
): string {
  return `${scripts[shell](program, commands).join("\n")}\n`;
}

type Script = (program: string, commands: readonly Command[]) => readonly string[];

const scripts: Readonly<Record<Shell, Script>> = {
  bash,
  zsh,
  fish,
};

const functionOf = (program: string): string => `_${program.replaceAll("-", "_")}`;

const optionsOf = ({ options }: Command): readonly (readonly [string, Option])[] => [
  ...Object.entries(options),
  [
    "help",
    { kind: "flag", placeholder: "", doc: "show its use", fallback: false, parse: () => true },
  ],
];

/** The beginning of a text, without what is special in quotes and in zsh's descriptions. */
const brief = (text: string): string =>
  (text.split(/[;:.\n(]/)[0] ?? "").replace(/['"[\]\\`$]/g, "").trim();

function bash(program: string, commands: readonly Command[]): readonly string[] {
  const names = commands.map(({ name }) => name).join(" ");
  const complete = functionOf(program);
  return [
    `${complete}() {`,
    '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD - 1]}" options="" words="" i',
    "  COMPREPLY=()",
    "  if ((COMP_CWORD == 1)); then",
    `    COMPREPLY=($(compgen -W "${names} --help --version" -- "$word"))`,
    "    return",
    "  fi",
    "  for ((i = 2; i < COMP_CWORD; i++)); do",
    "    if [[ ${COMP_WORDS[i]} == -- ]]; then",
    "      if declare -F _command_offset >/dev/null; then _command_offset $((i + 1)); fi",
    "      return",
    "    fi",
    "  done",
    '  case "${COMP_WORDS[1]} $before" in',
    ...commands.flatMap((command) =>
      optionsOf(command).flatMap(([option, { kind, choices }]) =>
        kind === "flag"
          ? []
          : [
              `  "${command.name} --${option}") ${choices ? `COMPREPLY=($(compgen -W "${choices.join(" ")}" -- "$word")); ` : ""}return ;;`,
            ],
      ),
    ),
    "  esac",
    '  case "${COMP_WORDS[1]}" in',
    ...commands.map((command) => {
      const options = optionsOf(command).map(([option]) => `--${option}`);
      return `  ${command.name}) options="${options.join(" ")}" words="${firstWords(command).join(" ")}" ;;`;
    }),
    "  esac",
    '  if [[ $word == -* ]]; then COMPREPLY=($(compgen -W "$options" -- "$word"))',
    '  elif ((COMP_CWORD == 2)); then COMPREPLY=($(compgen -W "$words" -- "$word")); fi',
    "}",
    `complete -o default -F ${complete} ${program}`,
  ];
}

function zsh(program: string, commands: readonly Command[]): readonly string[] {
  const complete = functionOf(program);
  return [
    `#compdef ${program}`,
    `${complete}() {`,
    "  local -a commands",
    "  commands=(",
    ...commands.map(({ name, summary }) => `    '${name}:${brief(summary)}'`),
    "  )",
    "  if (( CURRENT == 2 )); then _describe command commands; return; fi",
    '  words=("${(@)words[2,-1]}")',
    "  (( CURRENT-- ))",
    "  case $words[1] in",
    ...commands.flatMap((command) => [
      `  ${command.name})`,
      "    _arguments \\",
      ...optionsOf(command).map(([option, { kind, choices, placeholder, doc }]) => {
        const repeated = kind === "list" ? "*" : "";
        const value = choices ? `:${option}:(${choices.join(" ")})` : `:${placeholder}:_files`;
        return `      '${repeated}--${option}[${brief(doc)}]${kind === "flag" ? "" : value}' \\`;
      }),
      ...firstPositional(command),
      "    ;;",
    ]),
    "  esac",
    "}",
    `if [ "$funcstack[1]" = ${complete} ]; then ${complete} "$@"; else compdef ${complete} ${program}; fi`,
  ];
}

function firstPositional(command: Command): readonly string[] {
  const words = firstWords(command);
  const first = words.length > 0 ? [`      '1:what:(${words.join(" ")})' \\`] : [];
  return [...first, runsProgram(command) ? "      '*::command:_normal'" : "      '*:file:_files'"];
}

function fish(program: string, commands: readonly Command[]): readonly string[] {
  return [
    `complete -c ${program} -n __fish_use_subcommand -f`,
    ...commands.flatMap((command) => {
      const { name, summary } = command;
      const within = `complete -c ${program} -n '__fish_seen_subcommand_from ${name}'`;
      return [
        `complete -c ${program} -n __fish_use_subcommand -a ${name} -d '${brief(summary)}'`,
        ...firstWords(command).map((word) => `${within} -a ${word}`),
        ...(runsProgram(command) ? [`${within} -a '(__fish_complete_subcommand)'`] : []),
        ...optionsOf(command).map(([option, { kind, choices, doc }]) => {
          const value = choices ? ` -x -a '${choices.join(" ")}'` : kind === "flag" ? "" : " -r";
          return `${within} -l ${option}${value} -d '${brief(doc)}'`;
        }),
      ];
    }),
  ];
}
