import type { Command } from 'commander'
import type { Runner } from './run-action.ts'

/** Adds one command to the program. */
export type AddCommand = (program: Command, run: Runner) => void

export interface CommandText {
  /** Name and arguments, as in `get <ids...>`. */
  readonly usage: string
  readonly summary: string
  /** What else there is to know, after the summary. */
  readonly details?: string
  /** Command lines without the program's name, and what each does. */
  readonly examples: readonly (readonly [line: string, what: string])[]
}

/** A command with the options that all of them have, and its examples below its help. */
export function defineCommand(program: Command, text: CommandText): Command {
  const examples = text.examples.map(([line, what]) => `  # ${what}\n  $ looseleaf ${line}`).join('\n\n')
  const command = program
    .command(text.usage)
    .summary(text.summary)
    .description(text.details === undefined ? `${text.summary}.` : `${text.summary}.\n\n${text.details}`)
  return addCommonOptions(command).addHelpText('after', `\nExamples:\n${examples}`)
}

/** What every command takes, before its name too. */
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
