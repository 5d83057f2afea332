import { badOption } from '@looseleaf/core/internal'
import type { ListedShard } from '@looseleaf/store'

export type NamedShard = Pick<ListedShard, 'number' | 'address'>

type FoundShard = NamedShard & Pick<ListedShard, 'state'>

/** Finds a shard by its number or its address, as `shard list` prints them. Throws `BAD_OPTION` for any other text. */
export function findShard<Shard extends FoundShard>(shards: readonly Shard[], text: string): Shard {
  // The address of a removed shard may be that of a later one.
  const found =
    shards.find(({ number }) => text === String(number)) ?? shards.findLast(({ address }) => text === address)
  if (found !== undefined) return found
  const known = shards
    .filter(({ state }) => state !== 'removed')
    .map(({ number }) => shardText(shards, number))
    .join(', ')
  throw badOption(
    `Shard ${JSON.stringify(text)} is not in the store. A shard is named by its number or its address: ${known}.`,
  )
}

/** Returns a text such as `2 (db3:3306/feed)`. */
export function shardText(shards: readonly NamedShard[], number: number): string {
  const found = shards.find((shard) => shard.number === number)
  return found === undefined ? String(number) : `${number} (${found.address})`
}
