import { LooseleafError, type Shard } from '@looseleaf/core'
import type { CatalogEntry, IndexTable, IndexTableSpec } from '@looseleaf/core/internal'
import {
  isClaimsOf,
  isInUse,
  isPaused,
  tableSpec,
  type EngineContext,
} from '@looseleaf/index-engine/internal'

/** An index that a pass works on. */
export interface IndexTarget {
  readonly entry: CatalogEntry
  readonly spec: IndexTableSpec
  /** The shards of the store by number, also those that join later. */
  readonly shards: readonly Shard[]
}

export function indexTarget(context: EngineContext, entry: CatalogEntry): IndexTarget {
  const spec = tableSpec(entry)
  return { entry, spec, shards: context.driver.shards }
}

/** Returns the table of an index on a shard. The same object for the same table. */
export function tableOn({ shards, spec }: IndexTarget, shard: number): IndexTable {
  // Shard numbers never change.
  return (shards[shard] as Shard).index(spec)
}

/**
 * Returns the indexes to keep in step: building and ready ones, hidden or not. A retiring index is not queried and its tables are about to be
 * dropped, so it is left alone.
 */
export function cleanableIndexes(context: EngineContext): readonly CatalogEntry[] {
  return context.catalog.current().indexes.filter(isInUse)
}

/** Tells whether the filling of an index is halted: paused, or its `building` index hidden. */
export function isHalted(entry: CatalogEntry): boolean {
  return isPaused(entry) || (entry.state === 'building' && entry.hidden === true)
}

/** The name of an index, or of one of its generations. */
export type IndexName = string | { readonly name: string; readonly generation: number }

/**
 * Returns the indexes with these names, or all cleanable ones for undefined. While a new generation is being filled beside a ready one, a plain
 * name means the new one. Throws `INDEX_NOT_FOUND`.
 */
export function indexesNamed(
  context: EngineContext,
  names: IndexName | readonly IndexName[] | undefined,
): readonly CatalogEntry[] {
  if (names === undefined) return cleanableIndexes(context)
  return [names]
    .flat()
    .flatMap((name: IndexName) =>
      typeof name === 'string'
        ? newestNamed(context, name)
        : generationNamed(context, name.name, name.generation),
    )
}

function newestNamed(context: EngineContext, name: string): readonly CatalogEntry[] {
  const entries = cleanableIndexes(context).filter((entry) => entry.name === name)
  if (entries.length === 0) throw notFound(name)
  // Rows and claims have states of their own: claims may be filled while the rows are ready.
  return [entries.filter(({ unique }) => !unique), entries.filter(({ unique }) => unique)].flatMap(
    (group) => {
      const building = group.filter(({ state }) => state === 'building')
      return building.length > 0 ? building : group
    },
  )
}

/** Finds a generation by its rows, and adds the claims of the same keys, which other generations may share. */
function generationNamed(context: EngineContext, name: string, generation: number): readonly CatalogEntry[] {
  const entries = cleanableIndexes(context)
  const rows = entries.find(
    (entry) => entry.name === name && entry.generation === generation && !entry.unique,
  )
  if (rows === undefined) throw notFound(`${name} of generation ${generation}`)
  return [rows, ...entries.filter((entry) => isClaimsOf(entry, rows))]
}

function notFound(index: string): LooseleafError {
  return new LooseleafError('INDEX_NOT_FOUND', `The store has no index ${index}, or it is being dropped.`)
}
