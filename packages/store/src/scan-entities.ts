import { throwIfAborted, type CallOptions, type Driver, type Entity } from '@looseleaf/core'
import { toEntity } from '@looseleaf/index-engine'
import type { EntityReader } from './entity-reader.ts'

const PAGE = 500

/**
 * Every living entity, shard by shard in the order of their creation, as each is when its page is read: an entity that
 * is created meanwhile may be missing, none comes twice. A body that cannot be decoded throws.
 */
export async function* scanEntities(
  driver: Driver,
  reader: EntityReader,
  { signal }: CallOptions,
): AsyncGenerator<Entity, void, undefined> {
  for (const shard of driver.shards) {
    for (let after = 0; ;) {
      throwIfAborted(signal)
      const rows = await shard.entities.pageByAdded(after, PAGE, { signal })
      for (const row of rows) {
        const bag = reader.decode(row, shard.name)
        if (bag !== undefined) yield toEntity({ id: row.id, bag, version: row.version, updated: row.updated })
      }
      const last = rows.at(-1)
      if (last === undefined || rows.length < PAGE) break
      after = last.addedId
    }
  }
}
