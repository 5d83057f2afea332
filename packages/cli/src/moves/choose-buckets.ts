import type { CallOptions } from '@looseleaf/core'
import {
  badOption,
  bucketsIn,
  counted,
  grouped,
  unionOfRanges,
  withoutRanges,
} from '@looseleaf/core/internal'
import type { DataStore, ListedShard } from '@looseleaf/store'
import { shardText } from './shard-names.ts'

export interface BucketChoice {
  /** Ranges such as `77-96`. */
  readonly buckets?: string
  readonly count?: number
}

/**
 * Returns the buckets to be moved from one shard to another: those that are given, or the last ones of the source that are in no move. A
 * repeated command with `count` goes on with the move that it began, so it moves no buckets twice. Throws `BAD_OPTION` without a choice.
 */
export async function chooseBuckets(
  store: DataStore,
  source: ListedShard,
  target: ListedShard,
  { buckets, count }: BucketChoice,
  options: CallOptions,
): Promise<string> {
  if (buckets !== undefined) return buckets
  const { layout } = store.context.catalog.current()
  const owned = layout?.shards[source.number]?.buckets ?? ''
  const from = `Shard ${shardText([source], source.number)}`
  if (count === undefined) {
    throw badOption(
      `${from} has ${counted(bucketsIn(owned).length, 'bucket')}${owned === '' ? '' : ` (${owned})`}. Name those to be moved by --buckets, such as --buckets 77-96, or give their number by --count.`,
    )
  }
  const moves = await store.shards.moves(options)
  const begun = moves.find((move) => move.from === source.number && move.to === target.number)
  if (begun !== undefined) {
    if (begun.bucketCount === count) return begun.buckets
    throw badOption(
      `Move ${begun.id} of ${counted(begun.bucketCount, 'bucket')} between these shards is not over, and --count is ${grouped(count)}. Go on with that move by: ${begun.commands.forward}. To begin another one, name its buckets by --buckets.`,
    )
  }
  const free = bucketsIn(withoutRanges(owned, unionOfRanges(...moves.map((move) => move.buckets))))
  if (free.length < count) {
    throw badOption(
      `${from} has ${counted(free.length, 'bucket')} that ${free.length === 1 ? 'is' : 'are'} in no move, and --count is ${grouped(count)}.`,
    )
  }
  return unionOfRanges(...free.slice(-count).map(String))
}
