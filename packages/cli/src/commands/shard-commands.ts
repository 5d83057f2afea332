import {
  defineCommand,
  defineGroup,
  type AddCommand,
  type LooseleafCommand,
} from '../running/define-command.ts'
import { exitCodes } from '../running/exit-codes.ts'
import { printable } from '../output/text.ts'

const LIST_DETAILS = `STATE is joining while the tables of a new shard are being made: run shard add
again if it was interrupted. The exit code is 3 if this process does not reach a
shard.

JSON: [{ "number", "address", "state", "buckets" | null for a router without
  buckets, "error": { "code", "message" } | null }]`

const ADD_DETAILS = `The address is host:port/database, with the user of the store's first shard, or a
URL such as mysql://user@host:3306/database, or the name of a SQLite file in the
store's folder. The database has to exist and to be empty; a file is created.

Processes of the store learn of the shard within seconds, and connect to it by
its address with their own credentials. The shard owns no buckets yet: no entity
is stored there.

After an error, run the command again with the same address. If the command was
killed, the next one waits for a minute first.

JSON: { "number", "address", "added", "warnings": [text] }`

/** Adds `looseleaf shard`, which lists the shards of a store and adds one. */
export const addShardCommands: AddCommand = (program) => {
  const group = defineGroup(program, 'shard', 'List the shards of a store, or add one')
  addList(group)
  addAdd(group)
}

function addList(group: LooseleafCommand): void {
  defineCommand(group, {
    usage: 'list',
    summary: 'List the shards with their addresses and buckets',
    details: LIST_DETAILS,
    examples: [['shard list', 'all shards of the store']],
  }).does(async ({ output, signal, openStore }) => {
    const shards = await (await openStore()).shards.list({ signal })
    const shown = shards.map(({ buckets = null, error, ...shard }) => ({
      ...shard,
      buckets,
      error: error === undefined ? null : { code: error.code, message: error.message },
    }))
    output.result(shown, () =>
      output.table(
        ['SHARD', 'ADDRESS', 'STATE', 'BUCKETS', 'ERROR'],
        shown.map(({ number, address, state, buckets, error }) => [
          String(number),
          printable(address),
          state,
          String(buckets ?? ''),
          printable(error?.message ?? ''),
        ]),
      ),
    )
    return shown.some(({ error }) => error !== null) ? exitCodes.unavailable : exitCodes.ok
  })
}

function addAdd(group: LooseleafCommand): void {
  defineCommand(group, {
    usage: 'add <address>',
    summary: 'Make an empty database a shard of the store',
    details: ADD_DETAILS,
    examples: [
      ['shard add db3:3306/feed --dry-run', 'check the database and change nothing'],
      ['shard add db3:3306/feed', 'add it'],
    ],
  })
    .option('--dry-run', 'check the database, and change nothing')
    .does(
      async ({ output, signal, openStore }, address: string, { dryRun }: { readonly dryRun?: boolean }) => {
        const opened = await openStore()
        const before = await opened.shards.list({ signal })
        const result = await opened.shards.add(address, { signal, dryRun: dryRun === true })
        const isNew = !before.some((shard) => shard.address === result.address && shard.state !== 'joining')
        output.result(result, () =>
          [
            resultText(result, isNew, dryRun === true),
            ...result.warnings.map((warning) => `Warning: ${printable(warning)}`),
          ].join('\n'),
        )
      },
    )
}

function resultText(
  { number, address }: { readonly number: number; readonly address: string },
  isNew: boolean,
  isDry: boolean,
): string {
  const shard = `${printable(address)} `
  if (!isNew) return `${shard}is shard ${number} of the store already. Nothing was changed.`
  if (isDry) return `${shard}fits as shard ${number}. Nothing was changed.`
  return `${shard}is shard ${number} of the store. It owns no buckets yet.`
}
