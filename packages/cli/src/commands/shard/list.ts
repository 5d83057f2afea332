import { bytesText, grouped, shorten } from '@looseleaf/core/internal'
import type { ListedShard } from '@looseleaf/store'
import { defineCommand, type AddCommand } from '../../running/define-command.ts'
import { exitCodes } from '../../running/exit-codes.ts'

const DETAILS = `STATE is joining while the tables of a new shard are being made: run shard add
again if it was interrupted. A draining shard takes no buckets. The exit code is
3 if this process does not reach a shard. Long RANGES are cut; --json has them
whole.

--sizes counts exactly, which reads all ids and index rows of all shards. BODIES
are the bytes of the bodies: index rows and the database itself take more.

JSON: [{ "number", "address", "state", "buckets" and "ranges" | null for a router
  without buckets, "size": with --sizes, { "entities", "tombstones", "bytes",
    "rows": index rows and claims } | null,
  "error": { "code", "message" } | null }]`

export const addListShards: AddCommand = (group) => {
  defineCommand(group, {
    usage: 'list',
    summary: 'List the shards with their addresses and buckets',
    details: DETAILS,
    examples: [
      ['shard list', 'all shards of the store'],
      ['shard list --sizes', 'with exact counts'],
    ],
  })
    .option('--sizes', 'count entities, index rows and bytes')
    .does(async ({ output, signal, openStore }, { sizes }: { readonly sizes?: boolean }) => {
      const shards = await (await openStore()).shards.list({ signal, sizes })
      const shown = shards.map(({ buckets = null, ranges = null, size = null, error, ...shard }) => ({
        ...shard,
        buckets,
        ranges,
        ...(sizes === true && { size }),
        error: error === undefined ? null : { code: error.code, message: error.message },
      }))
      output.result(shown, () =>
        output.table(
          ['SHARD', 'ADDRESS', 'STATE', 'BUCKETS', 'RANGES', ...(sizes === true ? SIZES : []), 'ERROR'],
          shards.map(({ number, address, state, buckets, ranges, size, error }) => [
            String(number),
            address,
            state,
            String(buckets ?? ''),
            shorten(ranges ?? '', MAX_RANGES),
            ...(sizes === true ? sizeCells(size) : []),
            error?.message ?? '',
          ]),
        ),
      )
      return shown.some(({ error }) => error !== null) ? exitCodes.unavailable : exitCodes.ok
    })
}

/** Characters of the ranges of a shard. After many moves they may be thousands. */
const MAX_RANGES = 40

const SIZES = ['ENTITIES', 'TOMBSTONES', 'INDEX ROWS', 'BODIES']

function sizeCells(size: ListedShard['size']): readonly string[] {
  if (size === undefined) return SIZES.map(() => '?')
  const { entities, tombstones, rows, bytes } = size
  return [...[entities, tombstones, rows].map(grouped), bytesText(bytes)]
}
