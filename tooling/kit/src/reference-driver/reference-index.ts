import { LooseleafError } from '@looseleaf/core'
import {
  MAX_VERSION,
  type ClaimTable,
  type EntityRow,
  type IndexRow,
  type IndexScan,
  type IndexTable,
  type IndexTableSpec,
  type Key,
  type KeyRange,
  type KeyValue,
} from '@looseleaf/core/internal'
import { createReferenceClaims } from './reference-claims.ts'
import { bounded } from './reference-entities.ts'

export interface ReferenceIndex extends IndexTable {
  /** All rows, in key order. */
  readonly rows: readonly IndexRow[]
  /** Claims of the table, if the spec is `unique`. */
  readonly claims: ClaimTable
  /** Returns the claim of a key; undefined if it is free. */
  claimOf(key: Key): IndexRow | undefined
  /** Returns the current stamp of a row; undefined if there is no row. */
  versionOf(key: Key, entityId: Uint8Array): number | undefined
  /** Replaces the claim of its key. */
  putClaim(claim: IndexRow): void
  /** Returns every row of these entities. */
  rowsOf(entityIds: readonly Uint8Array[]): Promise<readonly IndexRow[]>
  create(): void
  drop(): void
  /** Returns the current rows; undefined without a table. */
  state(): readonly IndexRow[] | undefined
  /** Replaces the rows, like a failover to a lagging replica. */
  restore(state: readonly IndexRow[] | undefined): void
}

type Place = Pick<IndexRow, 'key' | 'entityId'>

/** Sorts before every id. */
const FIRST_ID = new Uint8Array(16)

export function createReferenceIndex(
  shard: string,
  spec: IndexTableSpec,
  checkEpoch: (epoch: number) => void,
  entityOf: (id: Uint8Array) => EntityRow | undefined,
): ReferenceIndex {
  let rows: IndexRow[] = []
  let exists = false

  function comparePlaces(a: Place, b: Place): number {
    return compareKeys(a.key, b.key) || Buffer.compare(a.entityId, b.entityId)
  }

  function compareKeys(a: Key, b: Key): number {
    for (const [i, value] of a.entries()) {
      const difference = compareValues(value, b[i] as KeyValue)
      if (difference !== 0) return spec.columns[i]?.order === 'desc' ? -difference : difference
    }
    return 0
  }

  function check(): void {
    if (!exists)
      throw new LooseleafError('INDEX_NOT_FOUND', `${shard} has no table ${spec.table}.`, { shard })
  }

  /** Returns the position of a row, or the position where it would be. */
  function find(key: Key, entityId: Uint8Array): { at: number; isFound: boolean } {
    let low = 0
    let high = rows.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (comparePlaces(rows[middle] as IndexRow, { key, entityId }) < 0) low = middle + 1
      else high = middle
    }
    const row = rows[low]
    return { at: low, isFound: row !== undefined && comparePlaces(row, { key, entityId }) === 0 }
  }

  /** Returns the only row of a key. */
  function claimAt(key: Key): { at: number; claim: IndexRow | undefined } {
    const { at } = find(key, FIRST_ID)
    const row = rows[at]
    const isOfKey = row !== undefined && compareKeys(row.key, key) === 0
    return { at, claim: isOfKey ? row : undefined }
  }

  function rowsFor({ order, after, limit, ...range }: IndexScan): readonly IndexRow[] {
    check()
    const sign = order === 'asc' ? 1 : -1
    const within = rows.filter((row) => {
      if (!isWithin(row.key, range)) return false
      const distance = after === undefined ? 1 : sign * comparePlaces(row, after)
      return distance > 0 || (distance === 0 && after?.inclusive === true)
    })
    return (order === 'asc' ? within : within.toReversed()).slice(0, limit)
  }

  function countFor(range: KeyRange, maxRows: number): number | undefined {
    check()
    const within = rows.filter((row) => isWithin(row.key, range))
    if (within.length > maxRows) return undefined
    return new Set(within.map((row) => Buffer.from(row.entityId).toString('hex'))).size
  }

  const countAll = (range: KeyRange): number => countFor(range, Infinity)!

  function putClaim(claim: IndexRow): void {
    const { at, claim: before } = claimAt(claim.key)
    rows.splice(at, before === undefined ? 0 : 1, claim)
  }

  return {
    claims: createReferenceClaims(spec.table, {
      check,
      claimOf: (key) => claimAt(key).claim,
      put: putClaim,
    }),
    claimOf: (key) => claimAt(key).claim,
    putClaim,
    get rows() {
      return rows
    },
    create() {
      exists = true
    },
    versionOf(key, entityId) {
      const { at, isFound } = find(key, entityId)
      return isFound ? rows[at]?.version : undefined
    },
    drop() {
      exists = false
      rows = []
    },
    state: () => (exists ? [...rows] : undefined),
    restore(before) {
      exists = before !== undefined
      rows = [...(before ?? [])]
    },
    async upsert(upserts) {
      if (spec.unique) {
        const message = `${spec.table} is a table of claims, which are taken, not written.`
        throw new LooseleafError('BAD_OPTION', message)
      }
      check()
      for (const { key, entityId, version, included = null } of upserts) {
        const { at, isFound } = find(key, entityId)
        const kept = isFound ? (rows[at] as IndexRow) : undefined
        const isLatest = kept === undefined || version >= kept.version
        rows.splice(at, isFound ? 1 : 0, {
          key,
          entityId,
          version: isLatest ? version : kept.version,
          ...(spec.covering && { included: isLatest ? included : kept.included }),
        })
      }
    },
    async remove(removals, { epoch } = {}) {
      check()
      if (epoch !== undefined) checkEpoch(epoch)
      let removed = 0
      for (const { key, entityId, before } of removals) {
        const { at, isFound } = find(key, entityId)
        if (!isFound || (rows[at] as IndexRow).version >= before) continue
        rows.splice(at, 1)
        removed++
      }
      return removed
    },
    async repairStamps(entityId, version) {
      check()
      let repaired = 0
      rows = rows.map((row) => {
        if (row.version <= MAX_VERSION || Buffer.compare(row.entityId, entityId) !== 0) return row
        repaired++
        return { ...row, version }
      })
      return repaired
    },
    scan: async (scan) => rowsFor(scan),
    scanMany: async (scans) => scans.map(rowsFor),
    scanEntities: async (scans) =>
      scans.map(({ maxBody, ...scan }) =>
        rowsFor(scan).map((row) => {
          const entity = entityOf(row.entityId)
          return { ...row, entity: entity && bounded(entity, maxBody) }
        }),
      ),
    scanVersions: async (scans) =>
      scans.map((scan) =>
        rowsFor(scan).map((row) => ({ ...row, entityVersion: entityOf(row.entityId)?.version })),
      ),
    async rowsOf(entityIds) {
      check()
      const wanted = new Set(entityIds.map((id) => Buffer.from(id).toString('hex')))
      return rows.filter((row) => wanted.has(Buffer.from(row.entityId).toString('hex')))
    },
    count: async (range) => countAll(range),
    countMany: async (ranges) => ranges.map(countAll),
    countShort: async (ranges, maxRows) => ranges.map((range) => countFor(range, maxRows)),
  }
}

function isWithin(key: Key, { prefix, lower, upper }: KeyRange): boolean {
  if (!prefix.every((value, i) => compareValues(key[i] as KeyValue, value) === 0)) return false
  const next = key[prefix.length]
  if (lower !== undefined) {
    const difference = compareValues(next as KeyValue, lower.value)
    if (difference < 0 || (difference === 0 && !lower.inclusive)) return false
  }
  if (upper !== undefined) {
    const difference = compareValues(next as KeyValue, upper.value)
    if (difference > 0 || (difference === 0 && !upper.inclusive)) return false
  }
  return true
}

function compareValues(a: KeyValue, b: KeyValue): number {
  // Values of one column have one type.
  if (a instanceof Uint8Array) return Buffer.compare(a, b as Uint8Array)
  const other = b as number | bigint
  return a < other ? -1 : a > other ? 1 : 0
}
