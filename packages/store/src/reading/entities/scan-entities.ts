import { formatId, type CallOptions, type Entity, type Shard } from '@looseleaf/core'
import { isUndecodable, takeCallbacks, throwIfAborted, type EntityRow } from '@looseleaf/core/internal'
import { longestBody, toEntity, wholeRows, type EngineContext } from '@looseleaf/index-engine/internal'
import { walkOwned } from '@looseleaf/protocol/internal'
import { damagedHandler } from './damaged-handler.ts'
import type { EntityReader } from './entity-reader.ts'
import type { DamagedEntity, ScanOptions } from '../../types.ts'

/** Rows per statement. */
const PAGE = 500

/**
 * Yields every living entity, shard by shard in the order of creation, in its state when its page is read. An entity that is created
 * during the scan may be missing. An entity whose bucket moves during the scan may come again, in a later state.
 */
export async function* scanEntities(
  context: EngineContext,
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
  context: EngineContext,
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

/**
 * Yields the rows of all shards from the owners of their buckets, with the shard's name. Holds only some MiB of bodies in memory, however
 * long they are.
 */
async function* storedRows(
  context: EngineContext,
  { signal }: CallOptions,
): AsyncGenerator<readonly [row: EntityRow, shard: string], void, undefined> {
  const { shards } = context.driver

  async function* runs(number: number, from: number): AsyncGenerator<readonly EntityRow[]> {
    const shard = shards[number] as Shard
    for (let after = from; ;) {
      throwIfAborted(signal)
      const page = await shard.entities.pageByAdded(after, PAGE, { signal, maxBody: longestBody(PAGE) })
      yield* wholeRows(shard, context, page, { signal })
      const last = page.at(-1)
      if (last === undefined || page.length < PAGE) break
      after = last.addedId
    }
  }

  for await (const [rows, number] of walkOwned(context, runs, { signal }))
    for (const row of rows) yield [row, (shards[number] as Shard).name]
}
