import { grouped, durationText } from '@looseleaf/core/internal'
import type { ConsumerReport } from '@looseleaf/changes'
import type { Output } from '../output/output.ts'

export function consumersJson(consumers: readonly ConsumerReport[]): unknown {
  return consumers.map(({ name, shards }) => ({
    name,
    shards: shards.map(({ error, lagMs, ...shard }) => ({
      ...shard,
      error: error === undefined ? null : { code: error.code, message: error.message },
      lagMs: lagMs !== undefined && Number.isFinite(lagMs) ? lagMs : null,
    })),
  }))
}

/** Returns a table with one line per consumer and shard; undefined without consumers. */
export function consumersText(output: Output, consumers: readonly ConsumerReport[]): string | undefined {
  if (consumers.length === 0) return undefined
  return output.table(
    ['CONSUMER', 'SHARD', 'LAG', 'PARTITIONS', 'PROCESSES', 'FAILING', 'DEAD LETTERS'],
    consumers.flatMap(({ name, shards }) =>
      shards.map(({ name: shard, error, lagMs, partitions, processes, failing, deadLetters }) =>
        error === undefined
          ? [
              output.colors.bold(name),
              shard,
              lagText(lagMs),
              `${partitions} of 8`,
              grouped(processes),
              grouped(failing),
              grouped(deadLetters),
            ]
          : [output.colors.bold(name), shard, '?', '?', '?', '?', error.code],
      ),
    ),
  )
}

export function lagText(lagMs: number | undefined): string {
  if (lagMs === undefined) return 'unknown'
  return Number.isFinite(lagMs) ? durationText(lagMs) : 'not begun'
}
