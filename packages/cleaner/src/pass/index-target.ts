import {
  LooseleafError,
  type CatalogEntry,
  type IndexTable,
  type IndexTableSpec,
  type Shard,
} from '@looseleaf/core'
import { tableSpec, type EngineContext } from '@looseleaf/index-engine'

/** An index that is being cleaned. */
export interface IndexTarget {
  readonly entry: CatalogEntry
  readonly spec: IndexTableSpec
  /** Its tables, in the order of the shards. */
  readonly tables: readonly IndexTable[]
}

export function indexTarget(context: EngineContext, entry: CatalogEntry): IndexTarget {
  const spec = tableSpec(entry)
  return { entry, spec, tables: context.driver.shards.map((shard) => shard.index(spec)) }
}

/** The index's table on a shard. */
export function tableOn(target: IndexTarget, shard: number): IndexTable {
  // Targets are made with a table for every shard, and shards are numbered by the same router.
  return target.tables[shard] as IndexTable
}

export function shardAt(context: EngineContext, shard: number): Shard {
  const found = context.driver.shards[shard]
  if (found === undefined) {
    const count = context.driver.shards.length
    throw new LooseleafError('BAD_OPTION', `There is no shard ${shard}; the store has ${count}, from 0.`)
  }
  return found
}

/**
 * The indexes to keep in step: building and ready ones. A retiring index is about to lose its tables and is queried by
 * nobody, so it is left alone.
 */
export function cleanableIndexes(context: EngineContext): readonly CatalogEntry[] {
  return context.catalog.current().indexes.filter(({ state }) => state === 'building' || state === 'ready')
}

/**
 * The indexes meant by these names; all cleanable ones without names. While a new generation is being filled beside one
 * that is ready, a name means the one that is being filled. Throws `INDEX_NOT_FOUND`.
 */
export function indexesNamed(
  context: EngineContext,
  names: string | readonly string[] | undefined,
): readonly CatalogEntry[] {
  const cleanable = cleanableIndexes(context)
  if (names === undefined) return cleanable
  return (typeof names === 'string' ? [names] : names).flatMap((name) => {
    const entries = cleanable.filter((entry) => entry.name === name)
    if (entries.length === 0) {
      throw new LooseleafError('INDEX_NOT_FOUND', `The store has no index ${name}, or it is being dropped.`)
    }
    // Claims may be filled while the rows serve: neither says anything of the other.
    return [entries.filter(({ unique }) => !unique), entries.filter(({ unique }) => unique)].flatMap(
      (kind) => {
        const building = kind.filter(({ state }) => state === 'building')
        return building.length > 0 ? building : kind
      },
    )
  })
}
