import { LooseleafError, type CatalogEntry, type IndexTable, type IndexTableSpec } from '@looseleaf/core'
import { isClaimsOf, isInUse, isPaused, tableSpec, type EngineContext } from '@looseleaf/index-engine'

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

/**
 * The indexes to keep in step: building and ready ones, hidden or not. A retiring index is about to lose its tables and is
 * queried by nobody, so it is left alone.
 */
export function cleanableIndexes(context: EngineContext): readonly CatalogEntry[] {
  return context.catalog.current().indexes.filter(isInUse)
}

/** Whether an index that is `building` is not to be filled now: somebody has paused that, or has hidden it. */
export function isHalted(entry: CatalogEntry): boolean {
  return isPaused(entry) || (entry.state === 'building' && entry.hidden === true)
}

/** An index by its name, or one generation of it. */
export type IndexName = string | { readonly name: string; readonly generation: number }

/**
 * The indexes meant by these names; all cleanable ones without names. While a new generation is being filled beside one
 * that is ready, a name alone means the one that is being filled. Throws `INDEX_NOT_FOUND`.
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
  // Claims may be filled while the rows serve: neither says anything of the other.
  return [entries.filter(({ unique }) => !unique), entries.filter(({ unique }) => unique)].flatMap((kind) => {
    const building = kind.filter(({ state }) => state === 'building')
    return building.length > 0 ? building : kind
  })
}

/** Generations are counted by their rows; the claims are those of the same keys, which others may have too. */
function generationNamed(context: EngineContext, name: string, generation: number): readonly CatalogEntry[] {
  const entries = cleanableIndexes(context)
  const rows = entries.find(
    (entry) => entry.name === name && entry.generation === generation && !entry.unique,
  )
  if (rows === undefined) throw notFound(`${name} of generation ${generation}`)
  return [rows, ...entries.filter((entry) => isClaimsOf(entry, rows))]
}

function notFound(what: string): LooseleafError {
  return new LooseleafError('INDEX_NOT_FOUND', `The store has no index ${what}, or it is being dropped.`)
}
