import type { Command } from 'commander'
import type { Runner } from './run-action.ts'

/** Adds one command to the program. */
export type AddCommand = (program: Command, run: Runner) => void

export interface CommandText {
  /** Name and arguments, as in `get <ids...>`. */
  readonly usage: string
  readonly summary: string
  /** Text of the help after the summary. */
  readonly details?: string
  /** Command lines without the program's name, each with its purpose. */
  readonly examples: readonly (readonly [line: string, purpose: string])[]
}

/** Adds a command with the common options, and its examples at the end of its help. */
export function defineCommand(program: Command, text: CommandText): Command {
  const examples = text.examples
    .map(([line, purpose]) => `  # ${purpose}\n  $ looseleaf ${line}`)
    .join('\n\n')
  const command = program
    .command(text.usage)
    .summary(text.summary)
    .description(text.details === undefined ? `${text.summary}.` : `${text.summary}.\n\n${text.details}`)
  return addCommonOptions(command).addHelpText('after', `\nExamples:\n${examples}`)
}

/** Adds a command that only has commands of its own. */
export function defineGroup(program: Command, name: string, summary: string): Command {
  return program.command(name).summary(summary).description(`${summary}.`).helpCommand(false)
}

/** Adds the options that all commands have. The program itself has them too, so they may also precede the command's name. */
export function addCommonOptions(command: Command): Command {
  return command
    .option('--config <file>', 'config file (default: the nearest looseleaf.config.ts, .js or .mjs)')
    .option(
      '--shards <text>',
      'mysql://…,mysql://… or sqlite:folder?shards=2 (default: LOOSELEAF_SHARDS, the config)',
    )
    .option('--json', 'print JSON for programs, errors too')
    .option('--debug', 'print stacks of errors')
}
