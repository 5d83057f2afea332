import { grouped, durationText } from '@looseleaf/core/internal'
import type { ConsumerReport } from '@looseleaf/changes'
import type { Output } from '../output/output.ts'
import { clip } from '../output/text.ts'

export function consumersJson(consumers: readonly ConsumerReport[]): unknown {
  return consumers.map(({ name, kinds, shards }) => ({
    name,
    kinds: kinds ?? null,
    shards: shards.map(({ error, lagMs, ...shard }) => ({
      ...shard,
      error: error === undefined ? null : { code: error.code, message: error.message },
      lagMs: lagMs !== undefined && Number.isFinite(lagMs) ? lagMs : null,
    })),
  }))
}

/** Returns a table with one line per consumer and shard. */
export function consumersText(output: Output, consumers: readonly ConsumerReport[]): string {
  return output.table(
    ['CONSUMER', 'KINDS', 'SHARD', 'LAG', 'PARTITIONS', 'PROCESSES', 'FAILING', 'DEAD LETTERS'],
    consumers.flatMap(({ name, kinds, shards }) =>
      shards.map(({ name: shard, error, lagMs, partitions, processes, failing, deadLetters }) =>
        error === undefined
          ? [
              output.colors.bold(name),
              kindsText(kinds),
              shard,
              lagText(lagMs),
              `${partitions} of 8`,
              grouped(processes),
              grouped(failing),
              grouped(deadLetters),
            ]
          : [output.colors.bold(name), kindsText(kinds), shard, '?', '?', '?', '?', error.code],
      ),
    ),
  )
}

const KINDS_WIDTH = 40

function kindsText(kinds: readonly string[] | undefined): string {
  return kinds === undefined ? 'all' : clip(kinds.join(', '), KINDS_WIDTH)
}

function lagText(lagMs: number | undefined): string {
  if (lagMs === undefined) return 'unknown'
  return Number.isFinite(lagMs) ? durationText(lagMs) : 'not begun'
}
