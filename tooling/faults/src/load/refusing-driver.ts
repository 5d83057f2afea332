import { LooseleafError, type Driver, type IndexTable, type Shard } from '@looseleaf/core'
import type { Random } from '@looseleaf-tooling/random'

/** A driver whose index tables refuse some statements before they are sent, as those of a shard that is away do. */
export function withRefusals(driver: Driver, chance: number, random: Random): Driver {
  const shards = driver.shards.map((shard): Shard => {
    const tables = new Map<string, IndexTable>()
    return {
      ...shard,
      index(spec) {
        let table = tables.get(spec.table)
        if (table === undefined) tables.set(spec.table, (table = refusing(shard.index(spec), chance, random)))
        return table
      },
    }
  })
  return { shards, close: () => driver.close() }
}

function refusing(table: IndexTable, chance: number, random: Random): IndexTable {
  return {
    ...table,
    async upsert(rows, options) {
      if (random.chance(chance))
        throw new LooseleafError('SHARD_UNAVAILABLE', 'The index refuses the rows, on purpose.')
      await table.upsert(rows, options)
    },
  }
}
