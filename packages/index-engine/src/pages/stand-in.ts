import type { CatalogEntry, IndexedProperty } from '@looseleaf/core/internal'
import type { Placement } from '../catalog/placement.ts'
import { sameProperty } from '../definitions/parse-property.ts'
import { samePredicate } from '../definitions/predicate.ts'
import { planQuery, type QueryPlan } from './plan-query.ts'
import type { QueryOptions } from './query-types.ts'

/**
 * An older generation of an index that answers queries while the newest one is filled. Its rows are read in its order and from its
 * shards. Entities have to match by the newest definition too.
 */
export interface StandIn extends CatalogEntry {
  readonly standsFor: CatalogEntry
}

/** The catalog entry that answers queries of a definition: its own entry, or a stand-in. */
export type ServingEntry = CatalogEntry & Partial<StandIn>

export function isStandIn(entry: ServingEntry): entry is StandIn {
  return entry.standsFor !== undefined
}

/**
 * Finds the latest generation that can stand in for a building one. It has to be ready and not hidden, and to have a row for every
 * entity with a row in the building index. So each of its properties is in the new definition too, with the same values, and its `on`
 * does not exclude an entity that the new definition includes.
 */
export function findStandIn(wanted: CatalogEntry, indexes: readonly CatalogEntry[]): StandIn | undefined {
  const older = indexes.filter(
    (entry) =>
      entry.name === wanted.name &&
      !entry.unique &&
      entry.state === 'ready' &&
      !entry.hidden &&
      hasEveryEntityOf(entry, wanted),
  )
  const [latest] = older.toSorted((a, b) => b.generation - a.generation)
  return latest && standIn(latest, wanted)
}

/** The last stand-in per generation. It stays the same object, because plans and cursors cache by entry. */
const cache = new WeakMap<CatalogEntry, StandIn>()

function standIn(older: CatalogEntry, wanted: CatalogEntry): StandIn {
  const cached = cache.get(older)
  if (cached?.standsFor === wanted) return cached
  const entry = { ...older, standsFor: wanted }
  cache.set(older, entry)
  return entry
}

function hasEveryEntityOf(older: CatalogEntry, wanted: CatalogEntry): boolean {
  const takesAll = older.on === undefined || samePredicate(older.on, wanted.on)
  return (
    takesAll &&
    older.properties.every((property) => wanted.properties.some((other) => hasEveryValueOf(property, other)))
  )
}

function hasEveryValueOf(older: IndexedProperty, wanted: IndexedProperty): boolean {
  const { order: _, nulls, ...value } = older
  const { order: __, nulls: wantedNulls, ...wantedValue } = wanted
  return sameProperty(value, wantedValue) && (nulls !== undefined || wantedNulls === undefined)
}

/**
 * Plans a query of the building definition on its stand-in. Undefined if the stand-in cannot serve this `where`. Throws `BAD_QUERY` if
 * the building definition cannot serve it either.
 */
export function planByStandIn(
  entry: StandIn,
  where: unknown,
  options: QueryOptions,
  placement: Placement,
): QueryPlan | undefined {
  const wanted = planQuery(entry.standsFor, where, options, placement)
  const scatter = entry.shardOn === entry.standsFor.shardOn ? options.scatter : true
  let plan: QueryPlan
  try {
    plan = planQuery(entry, where, { ...options, scatter }, placement)
  } catch {
    // The building definition serves the query, so the stand-in lacks a property, or has it in another position.
    return undefined
  }
  return {
    ...plan,
    canCountRows: false,
    rowsTellPlaces: false,
    matches: (bag) => wanted.matches(bag) && plan.matches(bag),
    firstKey: (bag) => (wanted.matches(bag) ? plan.firstKey(bag) : undefined),
  }
}
