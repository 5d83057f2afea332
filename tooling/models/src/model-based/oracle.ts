import type { Bag, ErrorCode, IndexDefinitionData } from '@looseleaf/core'
import { asStored } from './canonical.ts'
import { comparePlaces, compareValues, keyed, rowsOf, type Place, type Row } from './oracle-rows.ts'

/** Conditions of a query, as the store takes them. */
export type Conditions = Readonly<Record<string, unknown>>
type Operator = 'gt' | 'gte' | 'lt' | 'lte' | 'startsWith'

/** A condition of an intersection: values for the given number of first properties, and perhaps a range on the next. */
export interface GivenCondition {
  readonly index: IndexDefinitionData
  readonly where: Conditions
  readonly given: number
}

export interface FoundEntity {
  readonly id: string
  readonly bag: Bag
  /** Place at which the query meets the entity. */
  readonly place: Place
}

interface KnownIndex {
  definition: IndexDefinitionData
  state: 'building' | 'ready'
}

/**
 * The answer for a generation that is being filled beside a ready one of its name. The store may refuse with INDEX_NOT_READY, or answer from
 * the ready generation if that can serve the query; tests of the store say when.
 */
export const NOT_READY_OR_ANSWERED = 'INDEX_NOT_READY, or an answer of an older generation'

/** The answer for such a generation if it could not serve the query either: `BAD_QUERY` if an older one could stand in for it. */
export const NOT_READY_OR_BAD = 'INDEX_NOT_READY, or BAD_QUERY'

type RefusalCode = ErrorCode | typeof NOT_READY_OR_ANSWERED | typeof NOT_READY_OR_BAD

/** A refused call, with the error code that the store must throw. */
export class Refusal extends Error {
  readonly code: RefusalCode
  constructor(code: RefusalCode) {
    super(code)
    this.name = 'Refusal'
    this.code = code
  }
}

/** The store's promises over a plain Map: no shards, no lost rows, nothing in flight. */
export class Oracle {
  readonly entities = new Map<string, Bag>()
  readonly indexes: KnownIndex[]

  constructor(indexes: readonly IndexDefinitionData[]) {
    this.indexes = indexes.map((definition) => ({ definition, state: 'ready' }))
  }

  /** Replaces a whole bag; `isCurrent` tells whether the expected version is the entity's. */
  put(id: string, bag: Bag, isCurrent = true): { created: boolean } {
    if (!isCurrent) throw new Refusal('VERSION_MISMATCH')
    const refused = this.indexes.some(
      ({ definition }) => definition.onMisfit === 'refuse' && rowsOf(definition, bag).hasMisfit,
    )
    if (refused) throw new Refusal('BAD_INDEX_VALUE')
    if (this.hasKeyOfAnother(id, bag)) throw new Refusal('DUPLICATE_KEY')
    const created = !this.entities.has(id)
    this.entities.set(id, asStored(bag))
    return { created }
  }

  /**
   * Tells whether another entity has one of this bag's keys in a unique index. An empty key does not count.
   */
  private hasKeyOfAnother(id: string, bag: Bag): boolean {
    const keysOf = (definition: IndexDefinitionData, of: Bag): string[] =>
      rowsOf(definition, of)
        .rows.filter((row) => row.every(({ nothing }) => nothing === undefined))
        .map((row) => row.map(({ whole }) => `${typeof whole} ${String(whole)}`).join('\n'))
    return this.indexes.some(({ definition }) => {
      if (!definition.unique) return false
      const own = new Set(keysOf(definition, bag))
      return [...this.entities].some(
        ([other, theirs]) => other !== id && keysOf(definition, theirs).some((key) => own.has(key)),
      )
    })
  }

  insert(id: string, bag: Bag): { created: boolean } {
    if (this.entities.has(id)) throw new Refusal('ALREADY_EXISTS')
    return this.put(id, bag)
  }

  update(id: string, change: (bag: Bag) => Bag | undefined, isCurrent: boolean): { created: boolean } {
    const bag = this.entities.get(id)
    if (bag === undefined) throw new Refusal('NOT_FOUND')
    if (!isCurrent) throw new Refusal('VERSION_MISMATCH')
    const changed = change({ ...bag })
    return changed === undefined ? { created: false } : this.put(id, changed)
  }

  delete(id: string, isCurrent: boolean): boolean {
    if (!isCurrent) throw new Refusal('VERSION_MISMATCH')
    return this.entities.delete(id)
  }

  addIndex(definition: IndexDefinitionData): void {
    const known = this.indexes.find((index) => haveSameRows(index.definition, definition))
    if (known === undefined) this.indexes.push({ definition, state: 'building' })
    else known.definition = definition
  }

  /** A name means the filling generation before the ready one. */
  clean(name: string): void {
    const named = this.indexes.filter(({ definition }) => definition.name === name)
    if (named.length === 0) throw new Refusal('INDEX_NOT_FOUND')
    for (const index of named) index.state = 'ready'
  }

  dropIndex(which: string | IndexDefinitionData): boolean {
    const kept = this.indexes.filter(({ definition }) =>
      typeof which === 'string' ? definition.name !== which : !haveSameRows(definition, which),
    )
    return this.indexes.splice(0, Infinity, ...kept).length > kept.length
  }

  /** Returns all matches in order, each entity at its first matching row. */
  query(
    definition: IndexDefinitionData,
    where: Conditions,
    { order = 'asc', scatter = false }: { order?: 'asc' | 'desc' | undefined; scatter?: boolean | undefined },
  ): FoundEntity[] {
    const isBad = (!scatter && !saysShard(definition, where)) || cutsKeys(definition, where)
    this.requireReady(definition, isBad)
    if (isBad) throw new Refusal('BAD_QUERY')
    const sign = order === 'asc' ? 1 : -1
    const compare = (a: FoundEntity, b: FoundEntity): number => sign * comparePlaces(a.place, b.place)
    const found: FoundEntity[] = []
    for (const [id, bag] of this.entities) {
      const places = rowsOf(definition, bag)
        .rows.filter((row) => matches(definition, where, row))
        .map((row): FoundEntity => ({ id, bag, place: { row, id } }))
      const first = places.toSorted(compare)[0]
      if (first !== undefined) found.push(first)
    }
    return found.toSorted(compare)
  }

  /**
   * Returns the entities that match all conditions with rows that agree after the given first properties, in
   * the order of that rest.
   */
  intersect(
    conditions: readonly GivenCondition[],
    { order = 'asc', scatter = false }: { order?: 'asc' | 'desc' | undefined; scatter?: boolean | undefined },
  ): FoundEntity[] {
    for (const { index } of conditions) this.requireReady(index)
    if (!scatter && !conditions.every(({ index, where }) => saysShard(index, where)))
      throw new Refusal('BAD_QUERY')
    if (conditions.some(({ index, where }) => cutsKeys(index, where))) throw new Refusal('BAD_QUERY')
    const sign = order === 'asc' ? 1 : -1
    const compare = (a: FoundEntity, b: FoundEntity): number => sign * comparePlaces(a.place, b.place)
    const found: FoundEntity[] = []
    for (const [id, bag] of this.entities) {
      const [own, ...others] = conditions.map(({ index, where, given }) =>
        rowsOf(index, bag)
          .rows.filter((row) => matches(index, where, row))
          .map((row) => row.slice(given)),
      )
      const isCommon = (rest: Row): boolean =>
        others.every((rests) => rests.some((other) => wholeText(other) === wholeText(rest)))
      const places = own!.filter(isCommon).map((row): FoundEntity => ({ id, bag, place: { row, id } }))
      const first = places.toSorted(compare)[0]
      if (first !== undefined) found.push(first)
    }
    return found.toSorted(compare)
  }

  private requireReady(definition: IndexDefinitionData, isBad = false): void {
    const known = this.indexes.find((index) => haveSameRows(index.definition, definition))
    if (known === undefined) throw new Refusal('INDEX_NOT_FOUND')
    if (known.state === 'ready') return
    const isReplacing = this.indexes.some(
      (index) => index.state === 'ready' && index.definition.name === definition.name,
    )
    if (!isReplacing) throw new Refusal('INDEX_NOT_READY')
    throw new Refusal(isBad ? NOT_READY_OR_BAD : NOT_READY_OR_ANSWERED)
  }

  /** Returns the total number of rows in the tables of an index. */
  rowCount(definition: IndexDefinitionData): number {
    let count = 0
    for (const bag of this.entities.values()) count += rowsOf(definition, bag).rows.length
    return count
  }
}

/** Tells whether a row matches the conditions. */
export function matches(definition: IndexDefinitionData, where: Conditions, row: Row): boolean {
  return definition.properties.every((property, i) => {
    const condition = where[property.name]
    if (condition === undefined) return true
    const { whole, nothing } = row[i]!
    const list = listOf(condition)
    if (list !== undefined) {
      const { name } = property
      return list.some((value) =>
        matches({ ...definition, properties: [property] }, { [name]: value }, [row[i]!]),
      )
    }
    if (condition === null || nothing !== undefined) return condition === null && nothing !== undefined
    const distance = (value: unknown): number => compareValues(whole, keyed(property, value)!.whole)
    if (isValue(condition)) return distance(condition) === 0
    return Object.entries(condition as object).every(([operator, bound]) => {
      const d = distance(bound)
      const startsWith = String(whole).startsWith(String(keyed(property, bound)!.whole))
      return { gt: d > 0, gte: d >= 0, lt: d < 0, lte: d <= 0, startsWith }[operator as Operator]
    })
  })
}

/** Tells whether a `lt` or `gt` lies among values with one key: days, and first characters. */
function cutsKeys({ properties }: IndexDefinitionData, where: Conditions): boolean {
  return properties.some(({ name, key }) => {
    const { lt, gt } = (where[name] ?? {}) as { readonly lt?: unknown; readonly gt?: unknown }
    if (key === 'day')
      return (lt !== undefined && !isMidnight(lt, 0)) || (gt !== undefined && !isMidnight(gt, 1))
    if (key !== 'prefix(1)') return false
    return (lt !== undefined && [...String(lt)].length > 1) || (gt !== undefined && gt !== '')
  })
}

function isMidnight(time: unknown, plus: number): boolean {
  const date = new Date((time as Date).getTime() + plus)
  return Number.isNaN(date.getTime()) || date.toISOString().endsWith('T00:00:00.000Z')
}

/**
 * Tells whether two definitions of one name have the same properties, `shardOn`, `on` and `include`, and so
 * are one index.
 */
export function haveSameRows(a: IndexDefinitionData, b: IndexDefinitionData): boolean {
  return (
    a.name === b.name &&
    a.shardOn === b.shardOn &&
    JSON.stringify(a.properties) === JSON.stringify(b.properties) &&
    a.unique === b.unique &&
    JSON.stringify(a.on) === JSON.stringify(b.on) &&
    JSON.stringify(a.include?.toSorted()) === JSON.stringify(b.include?.toSorted())
  )
}

/** Returns the alternatives of a value list; undefined for another condition. */
function listOf(condition: unknown): readonly unknown[] | undefined {
  return (condition as { readonly in?: readonly unknown[] } | undefined)?.in
}

function saysShard({ shardOn }: IndexDefinitionData, where: Conditions): boolean {
  return isValue(where[shardOn]) || listOf(where[shardOn]) !== undefined
}

function wholeText(row: Row): string {
  return row
    .map(
      ({ whole, nothing }) =>
        nothing ?? `${typeof whole} ${Buffer.isBuffer(whole) ? whole.toString('hex') : whole}`,
    )
    .join(' | ')
}

function isValue(condition: unknown): boolean {
  return (
    condition === null ||
    (condition !== undefined && (typeof condition !== 'object' || condition instanceof Date))
  )
}
