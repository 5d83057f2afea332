import { LooseleafError } from '@looseleaf/core'

/** Makes the error of reads that have asked in vain so many times for the shard that serves a bucket. */
export function noOwner(tries: number): LooseleafError {
  return new LooseleafError(
    'SHARD_BUSY',
    `The buckets of some entities were being moved to other shards, and no owner was found ${tries} times in a row. If this lasts, run \`looseleaf shard repair\`, which names the reason.`,
  )
}
