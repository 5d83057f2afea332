import { formatId, type CallOptions, type Entity } from '@looseleaf/core'
import { isUndecodable, takeCallbacks, throwIfAborted, type EntityRow } from '@looseleaf/core/internal'
import { longestBody, toEntity, wholeRows, type EngineContext } from '@looseleaf/index-engine/internal'
import { damagedHandler } from './damaged-handler.ts'
import type { EntityReader } from './entity-reader.ts'
import type { DamagedEntity, ScanOptions } from '../../types.ts'

/** Rows per statement. */
const PAGE = 500

type Stored = Pick<EngineContext, 'driver' | 'codec' | 'bodies'>

/**
 * Yields every living entity once, shard by shard in the order of creation, in its state when its page is read. An entity that is
 * created during the scan may be missing.
 */
export async function* scanEntities(
  context: Stored,
  reader: EntityReader,
  options: ScanOptions,
): AsyncGenerator<Entity, void, undefined> {
  const taken = takeCallbacks(options)
  const handleDamaged = damagedHandler(taken.options.onDamaged)
  for await (const [row, shard] of storedRows(context, options)) {
    const found = await reader.entity(row, shard, { handleDamaged })
    if (found !== undefined) yield toEntity(found)
    else await taken.settled()
  }
}

/** Yields every entity that cannot be decoded, in the same order. */
export async function* scanDamaged(
  context: Stored,
  reader: EntityReader,
  options: CallOptions,
): AsyncGenerator<DamagedEntity, void, undefined> {
  for await (const [row, shard] of storedRows(context, options)) {
    try {
      await reader.decode(row, shard)
    } catch (error) {
      if (!isUndecodable(error)) throw error
      const { id, version, updated, body } = row
      yield { id: formatId(id), version, updated: new Date(updated / 1000), shard, body, error }
    }
  }
}

/** Yields every row of every shard with the shard's name. Holds only some MiB of bodies in memory, however long they are. */
async function* storedRows(
  context: Stored,
  { signal }: CallOptions,
): AsyncGenerator<readonly [row: EntityRow, shard: string], void, undefined> {
  for (const shard of context.driver.shards) {
    const { name, entities } = shard
    for (let after = 0; ;) {
      throwIfAborted(signal)
      const page = await entities.pageByAdded(after, PAGE, { signal, maxBody: longestBody(PAGE) })
      for await (const rows of wholeRows(shard, context, page, { signal }))
        for (const row of rows) yield [row, name]
      const last = page.at(-1)
      if (last === undefined || page.length < PAGE) break
      after = last.addedId
    }
  }
}
