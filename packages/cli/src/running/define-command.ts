import { Command } from 'commander'
import type { CommonOptions, Invocation } from './invocation.ts'
import type { Action, Runner } from './run-action.ts'

/** A command whose action gets an invocation, and whose exit code the program returns. */
export class LooseleafCommand extends Command {
  readonly #run: Runner

  constructor(name: string | undefined, run: Runner) {
    super(name)
    this.#run = run
  }

  override createCommand(name?: string): LooseleafCommand {
    return new LooseleafCommand(name, this.#run)
  }

  /** Sets the action. After the invocation it gets the arguments of the command line, and then the options. */
  does<Args extends unknown[]>(action: (invocation: Invocation, ...args: Args) => ReturnType<Action>): this {
    return this.action((...args) => {
      // The command itself is the last argument, after the options.
      const options = args.at(-2) as CommonOptions
      return this.#run(options, (invocation) => action(invocation, ...(args as Args)))
    })
  }
}

export type AddCommand = (program: LooseleafCommand) => void

export interface CommandText {
  /** Name and arguments, as in `get <ids...>`. */
  readonly usage: string
  readonly summary: string
  /** Text of the help after the summary. */
  readonly details: string
  /** Command lines without the program's name, each with its purpose. */
  readonly examples: readonly (readonly [line: string, purpose: string])[]
}

/** Adds a command with the common options, and its examples at the end of its help. */
export function defineCommand(program: LooseleafCommand, text: CommandText): LooseleafCommand {
  const examples = text.examples
    .map(([line, purpose]) => `  # ${purpose}\n  $ looseleaf ${line}`)
    .join('\n\n')
  const command = program
    .command(text.usage)
    .summary(text.summary)
    .description(`${text.summary}.\n\n${text.details}`)
  return addCommonOptions(command).addHelpText('after', `\nExamples:\n${examples}`)
}

/** Adds a command that only has commands of its own. */
export function defineGroup(program: LooseleafCommand, name: string, summary: string): LooseleafCommand {
  return program.command(name).summary(summary).description(`${summary}.`).helpCommand(false)
}

/** Adds the options that all commands have. The program itself has them too, so they may also precede the command's name. */
export function addCommonOptions(command: LooseleafCommand): LooseleafCommand {
  return command
    .option('--config <file>', 'config file (default: the nearest looseleaf.config.ts, .js or .mjs)')
    .option(
      '--shards <text>',
      'mysql://…,mysql://… or sqlite:folder?shards=2 (default: LOOSELEAF_SHARDS, the config)',
    )
    .option('--json', 'print JSON for programs, errors too')
    .option('--debug', 'print stacks of errors')
}
