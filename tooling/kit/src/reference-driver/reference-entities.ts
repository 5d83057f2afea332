import { crc32 } from 'node:zlib'
import { LooseleafError } from '@looseleaf/core'
import {
  isVersion,
  type BoundedRow,
  type ChangesRange,
  type EntityChecksum,
  type EntityInsert,
  type EntityRow,
  type EntityTable,
  type HandedClaim,
  type KeptCopy,
  type PendingRow,
  type PurgeBounds,
  type UpdatedPlace,
} from '@looseleaf/core/internal'
import type { ReferenceLocalRows } from './reference-local-rows.ts'

/** A stored row. */
export interface ReferenceRow extends EntityRow {
  readonly addedId: number
}

/** A claim that an entity of a batch holds and another one gets. */
export interface ReferenceClaim {
  /** Whether `from` holds it. */
  readonly isHeld: boolean
  give(): void
}

export interface ReferenceEntities extends EntityTable {
  /** All rows, in order of creation. */
  readonly rows: readonly ReferenceRow[]
  /** Returns the current row of an id. */
  current(id: Uint8Array): ReferenceRow | undefined
  isKept(copy: KeptCopy): boolean
  /** Current floor. */
  readonly floorNow: number
  /** Current purge bounds. */
  readonly purgedNow: PurgeBounds
  /** Replaces rows, floor and bounds, like a failover to a lagging replica. */
  restore(
    rows: readonly ReferenceRow[],
    state: { readonly floor: number; readonly purged: PurgeBounds },
  ): void
}

export function createReferenceEntities(
  shard: string,
  now: () => number,
  epochOfShard: () => number | undefined,
  checkEpoch: (epoch: number) => void,
  addPending: (row: PendingRow) => void,
  localRows: ReferenceLocalRows,
  claimOf: (claim: HandedClaim) => ReferenceClaim,
): ReferenceEntities {
  let rows: ReferenceRow[] = []
  let byId = new Map<string, ReferenceRow>()
  let lastAddedId = 0
  let floor = 0
  let purged: PurgeBounds = { updated: 0, version: 0 }

  const keyOf = (id: Uint8Array): string => Buffer.from(id).toString('hex')

  function write(row: EntityInsert, addedId: number): void {
    put({ ...row, updated: Math.max(now(), floor), addedId })
    for (const table of row.deferred ?? []) addPending({ entityId: row.id, table, version: row.version })
  }

  function isKept({ id, updated }: KeptCopy): boolean {
    const row = byId.get(keyOf(id))
    return row !== undefined && row.updated >= updated
  }

  function staleVersion(): LooseleafError {
    const message = `${shard} may have purged a tombstone of such a version.`
    return new LooseleafError('STALE_EPOCH', message, { shard })
  }

  /** Writes a row in the place of its `addedId`. */
  function put({ id, version, body, updated, addedId }: ReferenceRow): void {
    const plain: ReferenceRow = { id, version, body: body && Uint8Array.from(body), updated, addedId }
    const at = rows.findIndex((other) => other.addedId === addedId)
    if (at === -1) rows.push(plain)
    else rows[at] = plain
    byId.set(keyOf(id), plain)
  }

  /** Returns the number of deleted rows. */
  function deleteRows(isGone: (row: ReferenceRow) => boolean): number {
    const before = rows.length
    rows = rows.filter((row) => !isGone(row))
    if (rows.length < before) byId = new Map(rows.map((row) => [keyOf(row.id), row]))
    return before - rows.length
  }

  function pageOf({ after, until = Infinity, of }: ChangesRange, limit: number): readonly ReferenceRow[] {
    return rows
      .filter(({ addedId }) => of === undefined || of.some.includes(addedId % of.count))
      .filter(({ updated }) => updated < until)
      .filter((row) => compareUpdated(row, after) > 0)
      .toSorted(compareUpdated)
      .slice(0, limit)
  }

  return {
    get rows() {
      return rows
    },
    isKept,
    get floorNow() {
      return floor
    },
    get purgedNow() {
      return purged
    },
    restore(before, state) {
      rows = [...before]
      floor = state.floor
      purged = state.purged
      byId = new Map(rows.map((row) => [keyOf(row.id), row]))
      // A replica has counted only the rows that it has received.
      lastAddedId = rows.at(-1)?.addedId ?? 0
    },
    current: (id) => byId.get(keyOf(id)),
    read: async (ids) => ids.map((id) => byId.get(keyOf(id))),
    readBounded: async (ids, maxBody) =>
      ids.map((id) => {
        const row = byId.get(keyOf(id))
        return row && bounded(row, maxBody)
      }),
    readVersions: async (ids) => ids.map((id) => byId.get(keyOf(id))?.version),
    exist: async (ids) => ids.map((id) => (byId.get(keyOf(id))?.body ?? null) !== null),
    async insert(inserts, { epoch }) {
      checkEpoch(epoch)
      if (inserts.some(({ version }) => version < purged.version)) throw staleVersion()
      if (inserts.some((row) => byId.has(keyOf(row.id)))) {
        throw new LooseleafError('ALREADY_EXISTS', `${shard} has an entity of this id.`, { shard })
      }
      localRows.check(inserts)
      localRows.write(inserts)
      for (const row of inserts) write(row, ++lastAddedId)
      localRows.remove(inserts)
    },
    async replace(replaces, { epoch }) {
      checkEpoch(epoch)
      localRows.check(replaces)
      localRows.write(replaces)
      const won = replaces.map(({ base, baseBody, ...row }) => {
        const current = byId.get(keyOf(row.id))
        if (current?.version !== base) return false
        if (baseBody !== undefined && !sameBody(current.body, baseBody)) return false
        write(row, current.addedId)
        return true
      })
      localRows.remove(replaces.filter((_, i) => won[i]))
      return won
    },
    async writeAll(batch, { epoch, claims = [] }) {
      checkEpoch(epoch)
      const isStale = batch.some(({ base, version = Infinity }) => base === 0 && version < purged.version)
      const lost = batch.flatMap(({ id, base }, place) =>
        (byId.get(keyOf(id))?.version ?? 0) === base ? [] : [place],
      )
      if (lost.length > 0) return { lost }
      if (isStale) throw staleVersion()
      const handed = claims.map(claimOf)
      const missing = handed.findIndex(({ isHeld }) => !isHeld)
      const getter = claims[missing]?.to.entityId
      if (getter !== undefined) return { lost: [batch.findIndex(({ id }) => keyOf(id) === keyOf(getter))] }
      const written = batch.filter((row) => row.version !== undefined)
      localRows.check(written)
      for (const { give } of handed) give()
      localRows.write(written)
      for (const row of written) write(row, byId.get(keyOf(row.id))?.addedId ?? ++lastAddedId)
      localRows.remove(written)
      return 'written'
    },
    async repairVersion(id, version) {
      const current = byId.get(keyOf(id))
      if (current === undefined || isVersion(current.version)) return false
      write({ id, version, body: current.body }, current.addedId)
      return true
    },
    pageByAdded: async (after, limit, { maxBody } = {}) =>
      rows
        .filter((row) => row.addedId > after)
        .slice(0, limit)
        .map((row) => bounded(row, maxBody)),
    async pageByUpdated({ since, before }, limit, { maxBody } = {}) {
      const behind = (row: ReferenceRow): boolean =>
        before === undefined ||
        row.updated < before.updated ||
        (row.updated === before.updated && row.addedId < before.addedId)
      return rows
        .filter((row) => row.updated >= since && behind(row))
        .toSorted((a, b) => b.updated - a.updated || b.addedId - a.addedId)
        .slice(0, limit)
        .map((row) => bounded(row, maxBody))
    },
    floor: async () => ({ floor, now: now(), epoch: epochOfShard() ?? 0, purged }),
    raiseFloor: async () => {
      const newest = rows.reduce((latest, { updated }) => Math.max(latest, updated), 0)
      const least = Math.max(now(), floor)
      return (floor = (newest > least + 1_000_000 ? newest : least) + 1)
    },
    pageOfChanges: async (range, limit, { maxBody } = {}) =>
      pageOf(range, limit).map((row) => bounded(row, maxBody)),
    pageOfChecksums: async (range, limit) => pageOf(range, limit).map(withChecksum),
    checksums: async (ids) =>
      ids.map((id) => {
        const row = byId.get(keyOf(id))
        return row && withChecksum(row)
      }),
    async receive(copies, { epoch, updated, after }) {
      checkEpoch(epoch)
      if (after !== undefined && !isKept(after))
        throw new LooseleafError('STALE_EPOCH', `${shard} lacks an earlier copy.`, { shard })
      if (updated > floor) {
        throw new LooseleafError('STALE_EPOCH', `${shard} has a floor below the time of the copies.`, {
          shard,
        })
      }
      for (const copy of copies) {
        const row = byId.get(keyOf(copy.id))
        if (row !== undefined && row.updated > updated) continue
        put({ ...copy, updated, addedId: row?.addedId ?? ++lastAddedId })
      }
    },
    async discard(ids, { epoch }) {
      checkEpoch(epoch)
      const asked = new Set(ids.map(keyOf))
      return deleteRows((row) => asked.has(keyOf(row.id)))
    },
    async raisePurged({ updated, version }, { epoch }) {
      checkEpoch(epoch)
      purged = {
        updated: Math.max(purged.updated, updated),
        version: Math.max(purged.version, version),
      }
    },
    async purge(ids) {
      const asked = new Set(ids.map(keyOf))
      return deleteRows(
        (row) =>
          row.body === null &&
          row.updated < purged.updated &&
          row.version < purged.version &&
          asked.has(keyOf(row.id)),
      )
    },
    lastAddedId: async () => rows.at(-1)?.addedId ?? 0,
    extent: async () => ({ rows: rows.length, lastAddedId: rows.at(-1)?.addedId ?? 0 }),
    async count() {
      const tombstones = rows.filter((row) => row.body === null)
      return {
        entities: rows.length - tombstones.length,
        tombstones: tombstones.length,
        oldestTombstone:
          tombstones.length === 0 ? undefined : Math.min(...tombstones.map(({ updated }) => updated)),
      }
    },
  }
}

function compareUpdated(a: UpdatedPlace, b: UpdatedPlace): number {
  return a.updated - b.updated || a.addedId - b.addedId
}

export function bounded<Row extends EntityRow>(row: Row, maxBody = Infinity): Omit<Row, 'body'> & BoundedRow {
  const bodyBytes = row.body?.length ?? 0
  return { ...row, bodyBytes, body: bodyBytes > maxBody ? undefined : row.body }
}

function withChecksum({ body, ...row }: ReferenceRow): EntityChecksum {
  return { ...row, bodyBytes: body?.length ?? 0, checksum: body === null ? 0 : crc32(body) }
}

function sameBody(a: Uint8Array | null, b: Uint8Array | null): boolean {
  return a === null || b === null ? a === b : Buffer.compare(a, b) === 0
}
