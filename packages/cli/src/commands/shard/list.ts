import { defineCommand, type AddCommand } from '../../running/define-command.ts'
import { exitCodes } from '../../running/exit-codes.ts'
import { printable } from '../../output/text.ts'

const DETAILS = `STATE is joining while the tables of a new shard are being made: run shard add
again if it was interrupted. The exit code is 3 if this process does not reach a
shard.

JSON: [{ "number", "address", "state", "buckets" | null for a router without
  buckets, "error": { "code", "message" } | null }]`

export const addListShards: AddCommand = (group) => {
  defineCommand(group, {
    usage: 'list',
    summary: 'List the shards with their addresses and buckets',
    details: DETAILS,
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
