import { LooseleafError, type Shard } from '@looseleaf/core'
import type { ShardCatalog } from '@looseleaf/core/internal'

/**
 * Throws `LAYOUT_MISMATCH` if this process has the entities of a shard in another table than the store. With two tables:
 * 1. A process commits an entity to the table `other`, and its index rows to the tables that all processes share.
 * 2. A cleaner of another process does not find the entity in the table `entities`, and deletes the rows.
 * 3. A query of the first process misses the entity, although the index is ready.
 */
export function requireEntityTable(
  { name, entityTable: given }: Pick<Shard, 'name' | 'entityTable'>,
  { entityTable }: Pick<ShardCatalog, 'entityTable'>,
): void {
  if (entityTable === undefined || given === undefined || entityTable === given) return
  throw new LooseleafError(
    'LAYOUT_MISMATCH',
    `Shard ${name}: its store has the entities in the table ${entityTable}, but the driver of this process was given the table ${given} (entityTable). Give the name that the store was made with. Another store needs databases of its own, because two stores would share all other tables.`,
    { shard: name },
  )
}
