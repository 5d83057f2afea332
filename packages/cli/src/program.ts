import { readFileSync } from 'node:fs'
import { CommanderError } from 'commander'
import { addClean } from './commands/clean.ts'
import { addCodecCommands } from './commands/codec-commands.ts'
import { addConsole } from './commands/console.ts'
import { addConsumerCommands } from './commands/consumer-commands.ts'
import { addCount } from './commands/count.ts'
import { addDamaged } from './commands/damaged.ts'
import { addExplain } from './commands/explain.ts'
import { addExport } from './commands/export.ts'
import { addGet } from './commands/get.ts'
import { addImport } from './commands/import.ts'
import { addIndexCommands } from './commands/index-commands.ts'
import { addInit } from './commands/init.ts'
import { addKindCommands } from './commands/kind-commands.ts'
import { addPolicies } from './commands/policies.ts'
import { addPut } from './commands/put.ts'
import { addQuery } from './commands/query.ts'
import { addSchema } from './commands/schema.ts'
import { addShardCommands } from './commands/shard-commands.ts'
import { addSlow } from './commands/slow.ts'
import { addStatus } from './commands/status.ts'
import { addTop } from './commands/top.ts'
import type { Console } from './output/console.ts'
import { addCommonOptions, LooseleafCommand, type AddCommand } from './running/define-command.ts'
import { exitCodes, type ExitCode } from './running/exit-codes.ts'
import { redact, runAction, type Runner } from './running/run-action.ts'

const COMMANDS: readonly AddCommand[] = [
  addInit,
  addSchema,
  addPut,
  addGet,
  addQuery,
  addCount,
  addExplain,
  addImport,
  addExport,
  addClean,
  addDamaged,
  addIndexCommands,
  addKindCommands,
  addCodecCommands,
  addConsumerCommands,
  addPolicies,
  addShardCommands,
  addStatus,
  addSlow,
  addTop,
  addConsole,
]

const AFTER_HELP = `
The store comes from --shards, LOOSELEAF_SHARDS, or the nearest looseleaf.config.ts, in this order.

Exit codes: 0 done; 1 a problem in the data (no such entity, refused lines, missing rows); 2 usage or configuration;
3 a shard cannot be reached; 4 the store does not fit; 74 the output could not be written; 130 stopped by Ctrl-C.`

/** Runs one command line (without node and the script) and returns its exit code. */
export async function runProgram(args: readonly string[], console: Console): Promise<ExitCode> {
  let exitCode: ExitCode = exitCodes.ok
  const run: Runner = async (options, action) => {
    exitCode = await runAction(console, { ...program.opts(), ...options }, action)
  }
  const program = new LooseleafCommand('looseleaf', run)
    .description('Schema-less entities and live indexes on MySQL, MariaDB or SQLite.')
    .version(readVersion(), '--version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand(false)
    .addHelpText('after', AFTER_HELP)
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void console.stdout.write(text),
      // A mistyped option may be followed by a password.
      writeErr: (text) => void console.stderr.write(redact(text)),
      outputError: (text, write) => write(text.replace(/^error: /, 'Error: ')),
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
  addCommonOptions(program)
  for (const add of COMMANDS) add(program)
  try {
    await program.parseAsync(args, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage
  }
  return exitCode
}

function readVersion(): string {
  // This path is the same from src and from dist.
  const file = new URL('../package.json', import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}
