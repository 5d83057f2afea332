import { throwIfAborted, type Driver, type Entity } from '@looseleaf/core'
import { longestBody, toEntity, wholeRows } from '@looseleaf/index-engine'
import type { EntityReader, ReadOptions } from './entity-reader.ts'

const PAGE = 500

/**
 * Every living entity, shard by shard in the order of their creation, as each is when its page is read: an entity that
 * is created meanwhile may be missing, none comes twice. However long bodies are, only
 * some MiB of them are in hand at once.
 */
export async function* scanEntities(
  driver: Driver,
  reader: EntityReader,
  { signal, tellDamaged }: ReadOptions,
): AsyncGenerator<Entity, void, undefined> {
  for (const shard of driver.shards) {
    for (let after = 0; ;) {
      throwIfAborted(signal)
      const page = await shard.entities.pageByAdded(after, PAGE, { signal, maxBody: longestBody(PAGE) })
      for await (const rows of wholeRows(shard.entities, page, { signal })) {
        for (const row of rows) {
          const found = reader.entity(row, shard.name, { tellDamaged })
          if (found !== undefined) yield toEntity(found)
        }
      }
      const last = page.at(-1)
      if (last === undefined || page.length < PAGE) break
      after = last.addedId
    }
  }
}
