import { isId } from '@looseleaf/core'
import { parseRanges, toObject } from '@looseleaf/core/internal'

/** Fields that every version has written since the first. A catalog of another format is checked by the reader of the catalog. */
const FIELDS: Readonly<Record<string, string>> = {
  storeId: 'string',
  shardNumber: 'number',
  shardCount: 'number',
  router: 'string',
}

/** Returns why a stored catalog cannot be used; undefined for a good one. */
export function catalogFlaw(catalog: Readonly<Record<string, unknown>>): string | undefined {
  if ((catalog['format'] ?? 1) !== 1) return undefined
  const wrong = Object.keys(FIELDS).find((name) => typeof catalog[name] !== FIELDS[name])
  if (wrong !== undefined) return `it has no ${wrong}`
  const { indexes, layout, serves, contentsEpoch = 1, entityTable = '' } = catalog
  if (!isCount(contentsEpoch)) return 'its contentsEpoch is no number of a change'
  if (typeof entityTable !== 'string') return 'its entityTable is no name'
  if (layout !== undefined && !isLayout(layout)) return 'its layout or its moves are damaged'
  if (serves !== undefined && !isServes(serves)) return 'its `serves` is damaged'
  if (!Array.isArray(indexes)) return 'it has no indexes'
  return indexes.every(isEntry) ? undefined : 'an entry of indexes is not an index'
}

function isLayout(layout: unknown): boolean {
  const { revision, scheme = '', shards, moves } = toObject(layout) ?? {}
  const hasHead = typeof revision === 'number' && typeof scheme === 'string'
  return hasHead && Array.isArray(shards) && shards.every(isLayoutShard) && isListOf(moves, isMove)
}

function isLayoutShard(shard: unknown): boolean {
  const { name, buckets = '', state = '', away } = toObject(shard) ?? {}
  return [name, buckets, state].every((value) => typeof value === 'string') && isListOf(away, isAway)
}

function isMove(move: unknown): boolean {
  const { id, from, to, buckets, phase } = toObject(move) ?? {}
  return [id, from, to].every(isCount) && areRanges(buckets) && PHASES.has(phase)
}

const PHASES: ReadonlySet<unknown> = new Set(['both', 'target', 'undoing'])

function isServes(serves: unknown): boolean {
  const { owns, leaving, away, coming, arrived } = toObject(serves) ?? {}
  return (
    areRanges(owns) &&
    isListOf(leaving, (each) => isInMotion(each, 'to') && areRanges(each['sealed'] ?? '')) &&
    isListOf(away, isAway) &&
    isListOf(coming, (each) => isInMotion(each, 'from', 'afterAddedId')) &&
    isListOf(arrived, (each) => isInMotion(each, 'from', 'afterAddedId', 'end', 'begin'))
  )
}

function isAway(record: Readonly<Record<string, unknown>>): boolean {
  const { emptied = 0, last } = record
  return isInMotion(record, 'to', 'end') && isCount(emptied) && (last === undefined || isCopied(last))
}

function isCopied(value: unknown): boolean {
  const { id, updated } = toObject(value) ?? {}
  return isId(id) && isCount(updated)
}

function isInMotion(record: Readonly<Record<string, unknown>>, ...counts: readonly string[]): boolean {
  return ['move', 'attempt', ...counts].every((name) => isCount(record[name])) && areRanges(record['buckets'])
}

/** Tells whether a field is absent or a list of such objects. */
function isListOf(value: unknown, isItem: (item: Readonly<Record<string, unknown>>) => boolean): boolean {
  return value === undefined || (Array.isArray(value) && value.every((item) => isItem(toObject(item) ?? {})))
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0

const areRanges = (value: unknown): boolean => typeof value === 'string' && parseRanges(value) !== undefined

function isEntry(entry: unknown): boolean {
  const { name, table, state, generation, properties } = toObject(entry) ?? {}
  const isNamed = [name, table, state].every((value) => typeof value === 'string')
  return isNamed && typeof generation === 'number' && Array.isArray(properties) && properties.every(toObject)
}
