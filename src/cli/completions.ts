/** Completion scripts for four shells, made from the command table. */
import { PROGRAM } from "./build.ts";
import type {
  CommandSpecification,
  Invocation,
  OptionSpecification,
} from "./command.ts";
import { COMMANDS, DEFAULT_COMMAND, findCommand } from "./commands.ts";
import { EXIT_CODES } from "./exit_codes.ts";
import type { Outside } from "./outside.ts";

/** Prints the script of the named shell. */
export function completionsCommand(
  invocation: Invocation,
  outside: Outside,
): Promise<number> {
  outside.stdout.write(completionScript(invocation.operands[0] ?? "bash"));
  return Promise.resolve(EXIT_CODES.ok.code);
}

/** The script of `shell`: bash, zsh, fish or powershell. */
export function completionScript(shell: string): string {
  switch (shell) {
    case "zsh":
      return zshScript();
    case "fish":
      return fishScript();
    case "powershell":
      return powershellScript();
    default:
      return bashScript();
  }
}

/** First words of all commands, each once. */
function firstWords(): string[] {
  return [...new Set(COMMANDS.map((each) => each.name.split(" ")[0] ?? ""))];
}

/** Second words after `first`. */
function secondWords(first: string): string[] {
  return COMMANDS.filter((each) => each.name.startsWith(`${first} `))
    .map((each) => each.name.slice(first.length + 1));
}

function groups(): string[] {
  return firstWords().filter((word) => secondWords(word).length > 0);
}

function flagsOf(command: CommandSpecification): string[] {
  return [
    ...command.options.flatMap((option) => [
      `--${option.name}`,
      ...(option.short ? [`-${option.short}`] : []),
    ]),
    "--help",
  ];
}

/** All options with values to offer, each name once. */
function valueOptions(): OptionSpecification[] {
  const byName = new Map<string, OptionSpecification>();
  for (const command of COMMANDS) {
    for (const option of command.options) {
      if (option.choices || option.path) byName.set(option.name, option);
    }
  }
  return [...byName.values()];
}

function defaultFlags(): string[] {
  const command = findCommand(DEFAULT_COMMAND);
  return command ? flagsOf(command) : [];
}

function bashScript(): string {
  const values = valueOptions().map((option) =>
    option.choices
      ? `    --${option.name}) COMPREPLY=($(compgen -W '${
        option.choices.join(" ")
      }' -- "$word")); return ;;`
      : `    --${option.name}) COMPREPLY=($(compgen -f -- "$word")); return ;;`
  );
  const commands = COMMANDS.map((command) => {
    const choices = command.operands.flatMap((each) => each.choices ?? []);
    return `    '${command.name}') candidates='${
      [...flagsOf(command), ...choices].join(" ")
    }' ;;`;
  });
  const seconds = groups().map((group) =>
    `    '${group}') candidates='${secondWords(group).join(" ")}' ;;`
  );
  return `# bash completion for ${PROGRAM}
_agent_daemon() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} command= candidates= index
  case $before in
${values.join("\n")}
  esac
  for ((index = 1; index < COMP_CWORD && index < 3; index++)); do
    case \${COMP_WORDS[index]} in -*) break ;; esac
    command="\${command:+$command }\${COMP_WORDS[index]}"
    case $command in ${groups().join(" | ")}) ;; *) break ;; esac
  done
  case $command in
    '') candidates='${[...firstWords(), ...defaultFlags()].join(" ")}' ;;
${seconds.join("\n")}
${commands.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$candidates" -- "$word"))
}
complete -F _agent_daemon ${PROGRAM}
`;
}

function zshScript(): string {
  const quoted = (text: string) => text.replaceAll("'", "'\\''");
  const described = (text: string) =>
    quoted(text).replaceAll("\\", "\\\\").replaceAll(":", "\\:")
      .replaceAll("[", "\\[").replaceAll("]", "\\]");
  const option = (each: OptionSpecification) => {
    const action = each.choices
      ? `:value:(${each.choices.join(" ")})`
      : each.path
      ? ":path:_files"
      : each.placeholder
      ? ":value:"
      : "";
    return `'--${each.name}[${described(each.description)}]${action}'`;
  };
  const commands = COMMANDS.map((command) => {
    const choices = command.operands.flatMap((each) => each.choices ?? []);
    const operands = choices.length > 0
      ? [`'*:value:(${choices.join(" ")})'`]
      : [];
    const words = [...command.options.map(option), "'--help'", ...operands];
    return `    '${command.name}') _arguments ${words.join(" ")} ;;`;
  });
  const seconds = groups().map((group) =>
    `    '${group}') compadd ${secondWords(group).join(" ")} ;;`
  );
  return `#compdef ${PROGRAM}
_agent_daemon() {
  local command= used=0 index
  for ((index = 2; index < CURRENT && index < 4; index++)); do
    case \${words[index]} in -*) break ;; esac
    command="\${command:+$command }\${words[index]}"
    used=$((used + 1))
    case $command in (${groups().join("|")}) ;; (*) break ;; esac
  done
  shift $used words
  CURRENT=$((CURRENT - used))
  case $command in
    '') compadd ${firstWords().join(" ")} -- ${
    defaultFlags().map((flag) => `'${flag}'`).join(" ")
  } ;;
${seconds.join("\n")}
${commands.join("\n")}
  esac
}
compdef _agent_daemon ${PROGRAM}
`;
}

function fishScript(): string {
  const quoted = (text: string) =>
    `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  const lines = [
    `# fish completion for ${PROGRAM}`,
    `complete -c ${PROGRAM} -f`,
  ];
  for (const word of firstWords()) {
    const summary = findCommand(word)?.summary ?? "";
    lines.push(
      `complete -c ${PROGRAM} -n __fish_use_subcommand -a ${word} -d ${
        quoted(summary)
      }`,
    );
  }
  for (const group of groups()) {
    for (const second of secondWords(group)) {
      lines.push(
        `complete -c ${PROGRAM} -n '__fish_seen_subcommand_from ${group}; and not __fish_seen_subcommand_from ${
          secondWords(group).join(" ")
        }' -a ${second} -d ${
          quoted(findCommand(`${group} ${second}`)?.summary ?? "")
        }`,
      );
    }
  }
  for (const command of COMMANDS) {
    const condition = command.name.split(" ")
      .map((word) => `__fish_seen_subcommand_from ${word}`).join("; and ");
    for (const each of command.options) {
      const value = each.choices
        ? ` -x -a ${quoted(each.choices.join(" "))}`
        : each.path
        ? " -r -F"
        : each.placeholder
        ? " -x"
        : "";
      lines.push(
        `complete -c ${PROGRAM} -n '${condition}' -l ${each.name}${
          each.short ? ` -s ${each.short}` : ""
        }${value} -d ${quoted(each.description)}`,
      );
    }
    for (const choice of command.operands.flatMap((o) => o.choices ?? [])) {
      lines.push(`complete -c ${PROGRAM} -n '${condition}' -a ${choice}`);
    }
  }
  return `${lines.join("\n")}\n`;
}

function powershellScript(): string {
  const list = (words: readonly string[]) =>
    `@(${words.map((word) => `'${word}'`).join(", ")})`;
  const table = [
    `    '' = ${list([...firstWords(), ...defaultFlags()])}`,
    ...groups().map((group) => `    '${group}' = ${list(secondWords(group))}`),
    ...COMMANDS.map((command) =>
      `    '${command.name}' = ${
        list([
          ...flagsOf(command),
          ...command.operands.flatMap((each) => each.choices ?? []),
        ])
      }`
    ),
  ];
  return `# PowerShell completion for ${PROGRAM}
Register-ArgumentCompleter -Native -CommandName ${PROGRAM} -ScriptBlock {
  param($word, $ast, $position)
  $table = @{
${table.join("\n")}
  }
  $groups = ${list(groups())}
  $command = ''
  foreach ($element in ($ast.CommandElements | Select-Object -Skip 1)) {
    $text = $element.ToString()
    if ($text.StartsWith('-') -or $element.Extent.EndOffset -ge $position) { break }
    $command = ("$command $text").Trim()
    if ($groups -notcontains $command) { break }
  }
  $table[$command] | Where-Object { $_ -like "$word*" } | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }
}
`;
}
