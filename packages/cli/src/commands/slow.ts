import { isLooseleafError, type LooseleafError } from '@looseleaf/core'
import { counted } from '@looseleaf/core/internal'
import type { RunningStatement } from '@looseleaf/core/internal'
import { presentShards } from '@looseleaf/index-engine/internal'
import { errorOfShard } from '../running/error-of-shard.ts'
import { InvalidArgumentError } from 'commander'
import { defineCommand, type AddCommand } from '../running/define-command.ts'
import { exitCodes } from '../running/exit-codes.ts'
import type { Output } from '../output/output.ts'

interface ShardActivity {
  readonly name: string
  /** Undefined for a shard without a server, and for a shard that did not answer. */
  readonly statements?: readonly RunningStatement[] | undefined
  readonly error?: LooseleafError
}

const DETAILS = `Lists the statements that each server executes in the database of its shard, of
all clients, longest first. Prints tables and never values. A session is the
server's number of a connection: \`KILL QUERY <session>\` in a shell of this
server ends its statement. MySQL reports whole seconds.

Without the privilege PROCESS a user sees only its own statements, and no locks.
A shard in a SQLite file has no server. The exit code is 3 if a shard does not
answer, and 0 otherwise.

JSON:
  { "shards": [{ "name", "error" | null,
      "statements": [{ "session", "runningMs", "operation", "table" | null,
        "state", "waitsFor": [session] | null }] | null }] }`

export const addSlow: AddCommand = (program) => {
  defineCommand(program, {
    usage: 'slow',
    summary: 'Print statements that run on the servers now, and the locks that they wait for',
    details: DETAILS,
    examples: [
      ['slow', 'statements that have run for at least a second'],
      ['slow --over 0', 'all running statements'],
    ],
  })
    .option('--over <seconds>', 'only statements that have run for at least this long', parseSeconds, 1)
    .does(async ({ output, signal, openStore }, { over }: { readonly over: number }) => {
      const { driver } = (await openStore({ warn: false })).context
      const shards = await Promise.all(
        presentShards(driver).map(async (shard): Promise<ShardActivity> => {
          const answer = await shard.activity?.({ signal }).catch(errorOfShard)
          if (isLooseleafError(answer)) return { name: shard.name, error: answer }
          const statements = answer?.filter(({ runningMs }) => runningMs >= over * 1_000)
          return { name: shard.name, statements }
        }),
      )
      output.result({ shards: shards.map(shardJson) }, () => activityText(output, shards, over))
      return shards.some(({ error }) => error !== undefined) ? exitCodes.unavailable : exitCodes.ok
    })
}

function shardJson({ name, statements, error }: ShardActivity): unknown {
  return {
    name,
    error: error?.message ?? null,
    statements:
      statements?.map(({ table = null, waitsFor = null, ...others }) => ({ ...others, table, waitsFor })) ??
      null,
  }
}

function activityText(output: Output, shards: readonly ShardActivity[], over: number): string {
  const rows = shards.flatMap(({ name, statements = [] }) =>
    statements.map(({ session, runningMs, operation, table, state, waitsFor }) => [
      name,
      String(session),
      `${(runningMs / 1_000).toFixed(1)} s`,
      table === undefined ? operation : `${operation} ${table}`,
      waitsFor === undefined ? '?' : waitsFor.join(', '),
      state,
    ]),
  )
  const servers = shards.filter(({ statements }) => statements !== undefined).length
  const silent = shards.filter(({ error }) => error !== undefined)
  return [
    ...(rows.length > 0
      ? [output.table(['SHARD', 'SESSION', 'FOR', 'STATEMENT', 'WAITS FOR', 'STATE'], rows)]
      : []),
    servers === 0 && silent.length === 0
      ? 'No shard of this store has a server: SQLite runs its statements within the program.'
      : `${counted(rows.length, 'statement runs', 'statements run')} for ${over} s or longer on ${counted(servers, 'server', 'servers')}.`,
    ...silent.map(({ name, error }) => `${name}: ${error?.message}`),
  ].join('\n')
}

function parseSeconds(text: string): number {
  const seconds = Number(text)
  if (!/^\d+(\.\d+)?$/.test(text))
    throw new InvalidArgumentError('It has to be a number of seconds, such as 0.5.')
  return seconds
}
