import type { CatalogEntry, IndexedProperty, Router } from '@looseleaf/core'
import { sameProperty } from './parse-property.ts'
import { planQuery, type QueryPlan } from './plan-query.ts'
import { samePredicate } from './predicate.ts'
import type { QueryOptions } from './query-types.ts'

/**
 * An older generation of an index that answers queries of the newest one while that is being filled. It is read in its own order
 * and on its own shards; entities are judged by the newest definition.
 */
export interface StandIn extends CatalogEntry {
  readonly standsFor: CatalogEntry
}

/** The entry that answers queries: of the definition itself, or a generation that stands in for it. */
export type ServingEntry = CatalogEntry & Partial<StandIn>

export function isStandIn(entry: ServingEntry): entry is StandIn {
  return entry.standsFor !== undefined
}

/**
 * Finds the latest generation that can stand in for a building one: it is ready, and it has a row for every entity that has one in
 * the building index. So each of its properties is a property of the new definition too, with the same values, and it does
 * not leave out entities that the new definition takes.
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

/** The last one of each generation, since plans and cursors remember what they know of an entry by its object. */
const known = new WeakMap<CatalogEntry, StandIn>()

function standIn(older: CatalogEntry, wanted: CatalogEntry): StandIn {
  const last = known.get(older)
  if (last?.standsFor === wanted) return last
  const made = { ...older, standsFor: wanted }
  known.set(older, made)
  return made
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
 * Works out a query of the building definition on the generation that stands in for it. Undefined if that generation cannot
 * serve this `where`; throws `BAD_QUERY` as the building definition does.
 */
export function planByStandIn(
  entry: StandIn,
  where: unknown,
  options: QueryOptions,
  router: Router,
): QueryPlan | undefined {
  const wanted = planQuery(entry.standsFor, where, options, router)
  const scatter = entry.shardOn === entry.standsFor.shardOn ? options.scatter : true
  let plan: QueryPlan
  try {
    plan = planQuery(entry, where, { ...options, scatter }, router)
  } catch {
    // The building definition takes it, so this one lacks a property, or has it elsewhere.
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
