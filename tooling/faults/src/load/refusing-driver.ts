import { LooseleafError, type Driver, type IndexTable } from '@looseleaf/core'
import type { Random } from '@looseleaf-tooling/random'
import { withIndexTables } from './with-index-tables.ts'

/** A driver whose index tables refuse some statements before they are sent, as those of a shard that is away do. */
export function withRefusals(driver: Driver, chance: number, random: Random): Driver {
  return withIndexTables(driver, (table) => refusing(table, chance, random))
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
