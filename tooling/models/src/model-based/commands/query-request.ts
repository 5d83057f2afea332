import type { IndexedProperty } from '@looseleaf/core/internal'
import type { IndexDefinition } from '@looseleaf/index-engine'
import fc from 'fast-check'
import { baseIndexes, indexesOfOne, passingIndexes } from '../indexes.ts'
import type { Conditions, Oracle } from '../oracle.ts'
import { valueOf as heldBy } from '../oracle-rows.ts'
import { canonical } from '../canonical.ts'
import { alphabets } from '../values.ts'
import { shorten } from './command.ts'

export interface QueryRequest {
  readonly index: IndexDefinition
  readonly where: Conditions
  readonly order: 'asc' | 'desc' | undefined
  readonly scatter: boolean | undefined
}

/** A query before its values are chosen. */
export interface QueryPlan {
  readonly index: number
  /** Number of leading properties with a value. */
  readonly depth: number
  readonly picks: readonly Pick[]
  /** Per leading property, the number of values in its list: 0 for a plain value, -1 for an empty list. */
  readonly lists: readonly number[]
  /** `startsWith` excludes other bounds and needs strings. */
  readonly lower: 'gt' | 'gte' | 'startsWith' | undefined
  readonly upper: 'lt' | 'lte' | undefined
  readonly order: QueryRequest['order']
  readonly scatter: boolean | undefined
}

/** A choice of a value: one of this entity, or any existing one. */
export interface Pick {
  readonly from: 'entity' | 'alphabet'
  readonly number: number
}

export const anyPick: fc.Arbitrary<Pick> = fc.record<Pick>({
  from: fc.constantFrom('entity', 'entity', 'entity', 'alphabet'),
  number: fc.nat(30),
})

/** Permanent indexes come more often than those that are mostly absent. */
const indexes = [...baseIndexes, ...indexesOfOne, ...passingIndexes]

export const queryPlans: fc.Arbitrary<QueryPlan> = fc.record({
  index: fc.nat(indexes.length - 1),
  depth: fc.constantFrom(0, 0, 1, 1, 2, 3),
  picks: fc.array(anyPick, { minLength: 5, maxLength: 5 }),
  lists: fc.array(fc.constantFrom(0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 4, 4, -1), { minLength: 3, maxLength: 3 }),
  lower: fc.constantFrom(undefined, undefined, 'gt', 'gte', 'startsWith'),
  upper: fc.constantFrom(undefined, undefined, 'lt', 'lte'),
  order: fc.constantFrom(undefined, 'asc', 'desc', 'desc'),
  scatter: fc.constantFrom(true, true, true, true, true, false, undefined),
})

/** Plans for covering indexes. */
export const listPlans: fc.Arbitrary<QueryPlan> = fc
  .tuple(
    queryPlans,
    fc.constantFrom(...indexes.flatMap(({ include }, number) => (include === undefined ? [] : [number]))),
  )
  .map(([plan, index]) => ({ ...plan, index }))

/** Returns the query to send. Half of its values belong to entities, so that it finds some. */
export function requestOf(plan: QueryPlan, oracle: Oracle): QueryRequest {
  const { depth, picks, lists, lower, upper, order, scatter } = plan
  const index = indexes[plan.index]!
  const where: Record<string, unknown> = {}
  for (const [i, property] of index.properties.entries()) {
    const { name, type, key, nulls } = property
    const value = (place: number): unknown => valueOf(picks[place]!, property, oracle)
    if (i < depth) {
      const orNull = (one: unknown, at: number): unknown =>
        nulls !== undefined && (picks[i]!.number + at) % 4 === 0 ? null : one
      const list = Array.from({ length: Math.max(0, lists[i]!) }, (_, step) =>
        orNull(valueOf(picks[i]!, property, oracle, step), step),
      )
      where[name] = lists[i] === 0 ? orNull(value(i), 0) : { in: list }
      continue
    }
    // Hashes have no order.
    if (key === 'hash') break
    if (lower === 'startsWith') {
      if (type === 'string') where[name] = { startsWith: beginningOf(String(value(3)), picks[4]!.number) }
    } else if (lower !== undefined || upper !== undefined) {
      where[name] = { ...(lower && { [lower]: value(3) }), ...(upper && { [upper]: value(4) }) }
    }
    break
  }
  return { index, where, order, scatter }
}

/** Returns the options of a request as the store takes them. */
export function optionsOf({ order, scatter }: QueryRequest): { order?: 'asc' | 'desc'; scatter?: boolean } {
  return { ...(order !== undefined && { order }), ...(scatter !== undefined && { scatter }) }
}

/** Returns the first characters of a text; possibly none, or all. */
function beginningOf(text: string, number: number): string {
  const characters = [...text]
  return characters.slice(0, number % (characters.length + 1)).join('')
}

/**
 * Returns a value by its steps: pairs of steps select elements of an entity's array or repeat a value, then
 * move to the next one.
 */
export function valueOf(
  { from, number }: Pick,
  { name, of = name, type }: IndexedProperty,
  oracle: Oracle,
  step = 0,
): unknown {
  const alphabet = alphabets[type]!
  const usual = alphabet[(number + step) % alphabet.length]
  if (from === 'alphabet' || oracle.entities.size === 0) return usual
  const bag = [...oracle.entities.values()][(number + (step >> 1)) % oracle.entities.size]!
  const held = heldBy(bag, of)
  const value: unknown = Array.isArray(held) ? held[(number + step) % Math.max(1, held.length)] : held
  // A query cannot ask for misfits or absent values.
  const isUsual = alphabet.some(
    (one) => one === value || (one instanceof Date && value instanceof Date && +one === +value),
  )
  return isUsual ? value : usual
}

/** Describes a request in a trace. */
export function describeRequest({ index, where, order, scatter }: QueryRequest): string {
  return `${index.name} ${shorten(canonical(where))} ${order ?? ''}${scatter ? ' scatter' : ''}`
}
