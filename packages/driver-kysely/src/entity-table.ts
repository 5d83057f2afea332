import { crc32 } from 'node:zlib'
import {
  idKey,
  LooseleafError,
  type BoundedRow,
  type CallOptions,
  type EntityInsert,
  type EntityPageRow,
  type EntityReplace,
  type EntityRow,
  type EntityTable,
  type PageOptions,
  type WriteOptions,
} from '@looseleaf/core'
import type { CompiledQuery } from 'kysely'
import { entityStatements } from './entity-statements.ts'
import type { Flavor } from './flavor.ts'
import { createOwnWrites } from './own-writes.ts'
import { writePending } from './pending-table.ts'
import { toCount, toNumber } from './row-values.ts'
import type { Call, FaultCodes, Row, Session } from './session.ts'
import { checkWriteRows, idChunks } from './sql-parts.ts'
import { swapWinners } from './swap-winners.ts'

const staleEpoch = [
  'STALE_EPOCH',
  'the catalog has another epoch than the one that the write was made with; nothing was written.',
] as const

const faults: FaultCodes = {
  duplicate: ['ALREADY_EXISTS', 'an entity with one of these ids is there already.'],
  'no-table': ['NOT_MIGRATED', 'the entity table or the catalog table is missing; create the tables first.'],
  'fence-refused': staleEpoch,
}

export interface EntityTableOptions {
  readonly shardName: string
  readonly session: Session
  readonly flavor: Flavor
  readonly table: string
}

export function createEntityTable(options: EntityTableOptions): EntityTable {
  const { session, flavor, shardName } = options
  const statements = entityStatements(options.table, flavor)
  const ownWrites = createOwnWrites()
  const { parameters: ofOwnSession } = flavor.ownSession

  const reading = (call: CallOptions | undefined): Call => ({ write: false, signal: call?.signal, faults })
  const writing = (call: CallOptions): Call => ({ write: true, signal: call.signal, faults })

  /** Rows by their ids; `parameters` stand before those in the statement. */
  async function select(
    kind: 'read' | 'readBounded' | 'bodyLengths' | 'readVersions' | 'readSums',
    ids: readonly Uint8Array[],
    call: Call,
    through: Session = session,
    parameters: readonly unknown[] = [],
  ): Promise<Map<string, Row>> {
    const found = new Map<string, Row>()
    const results = await Promise.all(
      idChunks(ids).map((chunk) =>
        through.run(
          session.shape(`${kind} ${chunk.length}`, () => statements[kind](chunk.length)),
          kind === 'readVersions' ? [...chunk, ...ofOwnSession] : [...parameters, ...chunk],
          call,
        ),
      ),
    )
    for (const { rows } of results) for (const row of rows) found.set(idKey(row.id as Uint8Array), row)
    return found
  }

  /** The lengths of the bodies that were left out of these rows, by id. */
  async function lengthsOf(rows: Iterable<Row>, call: Call): Promise<ReadonlyMap<string, Row>> {
    const ids: Uint8Array[] = []
    for (const row of rows) if (isLeftOut(row)) ids.push(row.id as Uint8Array)
    return select('bodyLengths', ids, call)
  }

  async function pageOf(
    query: CompiledQuery,
    parameters: readonly unknown[],
    call: CallOptions | undefined,
  ): Promise<readonly EntityPageRow[]> {
    const { rows } = await session.run(query, parameters, reading(call))
    const lengths = await lengthsOf(rows, reading(call))
    return rows.map((row) => ({ ...boundedRow(row, lengths), addedId: toNumber(row.added_id) }))
  }

  /** The number of rows that it changed tells all there is to know. */
  async function swapOne(
    { id, base, version, body }: EntityReplace,
    epoch: number,
    call: Call,
    through: Session,
  ): Promise<boolean> {
    const query = session.shape('replaceOne', () => statements.replaceOne())
    const result = await through.run(query, [version, body, id, base, epoch, ...ofOwnSession], call)
    return toCount(result.numAffectedRows) === 1
  }

  /** Reads versions back after a swap. Some of its rows are committed by then, unless it is within a transaction. */
  async function readBack(
    kind: 'readVersions' | 'readSums',
    ids: readonly Uint8Array[],
    call: Call,
    through: Session,
  ): Promise<Map<string, Row>> {
    try {
      return await select(kind, ids, { ...call, write: false }, through)
    } catch (cause) {
      if (through !== session) throw cause
      throw new LooseleafError(
        'OUTCOME_UNKNOWN',
        `${shardName}: some of ${ids.length} entities were written, and it could not be read which.`,
        { shard: shardName, cause },
      )
    }
  }

  /** Whether all of these rows are there with the version and the body that they were to have. */
  async function areOwn(rows: readonly EntityReplace[], call: Call): Promise<boolean> {
    const ids = rows.map(({ id }) => id)
    const found = await readBack('readSums', ids, call, session)
    return rows.every(({ id, version, body }) => {
      const row = found.get(idKey(id))
      const sum = row === undefined || row.body_sum === null ? null : toNumber(row.body_sum)
      return versionOf(row) === version && sum === (body === null ? null : crc32(body))
    })
  }

  /** Sends one compare-and-swap of rows in the order of their ids, and says which of them it changed. */
  async function swapMany(
    rows: readonly EntityReplace[],
    epoch: number,
    call: Call,
    outer: Session,
  ): Promise<readonly boolean[]> {
    const isLong = rows.some(({ body }) => body !== null && body.length > 65_535)
    const query = session.shape(`replace ${rows.length} ${isLong}`, () =>
      statements.replaceMany(rows.length, isLong),
    )
    const parameters = rows.flatMap<unknown>(({ id, base, version, body }) => [id, base, version, body])
    parameters.push(epoch, ...ofOwnSession)

    if (flavor.swapReturnsIds) {
      const result = await outer.run(query, parameters, call)
      const changed = new Set(result.rows.map((row) => idKey(row.id as Uint8Array)))
      return rows.map(({ id }) => changed.has(idKey(id)))
    }
    const ids = rows.map(({ id }) => id)
    const send = async (through: Session): Promise<readonly boolean[] | undefined> => {
      const result = await through.run(query, parameters, call)
      const changed = toCount(result.numAffectedRows)
      if (changed === rows.length || changed === 0) return rows.map(() => changed > 0)
      const found = await readBack('readVersions', ids, call, through)
      const foundOf = ({ id }: EntityReplace): number => versionOf(found.get(idKey(id))) ?? 0
      const winners = swapWinners(
        rows.map((row) => ({ version: row.version, found: foundOf(row) })),
        changed,
      )
      // Two processes may, though hardly ever, choose one version for one entity, and its body tells them apart. Only
      // where a row was replaced again can the numbers agree all the same; within a transaction none is.
      const mayBeTaken = through === session && rows.some((row) => foundOf(row) > row.version)
      if (winners === undefined || !mayBeTaken) return winners
      const own = await areOwn(
        rows.filter((row) => foundOf(row) === row.version),
        call,
      )
      return own ? winners : undefined
    }
    // Where other processes write the same entities, the transaction keeps their writes from coming between
    // the swap and the reading back. Elsewhere it would only cost round trips and hold locks for longer.
    const careful = outer === session && ownWrites.areContested(rows)
    const won = careful ? await session.transaction(call, send) : await send(outer)
    if (won !== undefined) return won
    ownWrites.lost(rows)
    throw new LooseleafError(
      'OUTCOME_UNKNOWN',
      `${shardName}: other writers were so quick to replace these entities again that it cannot be told which of the ${rows.length} writes came first.`,
      { shard: shardName },
    )
  }

  /**
   * Runs a write; together with the pending rows that go with its rows, where there are any, in one transaction. They come
   * first: should something between split the transaction, none of these entities is committed without them.
   */
  async function withPending<T>(
    rows: readonly EntityInsert[],
    call: Call,
    write: (through: Session) => Promise<T>,
  ): Promise<T> {
    const pending = rows.flatMap(({ id, version, deferred = [] }) =>
      deferred.map((table) => ({ entityId: id, table, version })),
    )
    if (pending.length === 0) return write(session)
    return session.transaction(call, async (inner) => {
      // One too many, for a row that loses its compare-and-swap, only makes the cleaner look.
      await writePending(inner, flavor, pending, call)
      return write(inner)
    })
  }

  async function refuseStaleEpoch(epoch: number, call: Call): Promise<void> {
    const { rows } = await session.run(
      session.shape('epoch', () => statements.epoch()),
      [],
      { ...call, write: false },
    )
    if (rows[0] !== undefined && toNumber(rows[0].epoch) === epoch) return
    throw new LooseleafError(staleEpoch[0], `${shardName}: ${staleEpoch[1]}`, { shard: shardName })
  }

  return {
    async read(ids, call) {
      const found = await select('read', ids, reading(call))
      return ids.map((id) => {
        const row = found.get(idKey(id))
        return row === undefined ? undefined : entityRow(row)
      })
    },

    async readBounded(ids, maxBody, call) {
      const found = await select('readBounded', ids, reading(call), session, [maxBody])
      const lengths = await lengthsOf(found.values(), reading(call))
      return ids.map((id) => {
        const row = found.get(idKey(id))
        return row === undefined ? undefined : boundedRow(row, lengths)
      })
    },

    async readVersions(ids, call) {
      const found = await select('readVersions', ids, reading(call))
      return ids.map((id) => versionOf(found.get(idKey(id))))
    },

    async insert(rows, call: WriteOptions) {
      if (rows.length === 0) return
      checkWriteRows(options.table, rows.length)
      const parameters = inOrder(rows).flatMap<unknown>(({ id, version, body }, i) =>
        i === 0 ? [id, ...ofOwnSession, version, call.epoch, body] : [id, version, body],
      )
      await withPending(rows, writing(call), (through) =>
        through.run(
          session.shape(`insert ${rows.length}`, () => statements.insert(rows.length)),
          parameters,
          writing(call),
        ),
      )
      ownWrites.inserted(rows)
    },

    async replace(rows, call: WriteOptions) {
      if (rows.length === 0) return []
      checkWriteRows(options.table, rows.length)
      const sorted = inOrder(rows)
      const won = await withPending(sorted, writing(call), async (through) =>
        sorted.length === 1
          ? [await swapOne(sorted[0] as EntityReplace, call.epoch, writing(call), through)]
          : swapMany(sorted, call.epoch, writing(call), through),
      )
      // All lost: to other writers, or to the epoch, which holds back a statement as a whole.
      if (!won.includes(true)) await refuseStaleEpoch(call.epoch, reading(call))
      const written = sorted.filter((_, i) => won[i])
      ownWrites.won(written)
      ownWrites.lost(sorted.filter((_, i) => !won[i]))
      const winners = new Set(written.map(({ id }) => idKey(id)))
      return rows.map(({ id }) => winners.has(idKey(id)))
    },

    pageByAdded: (after, limit, call) =>
      pageOf(
        session.shape('pageByAdded', () => statements.pageByAdded()),
        [maxBodyOf(call), after, limit],
        call,
      ),

    pageByUpdated({ since, before }, limit, call) {
      const place =
        before === undefined ? [] : [before.updated, before.updated, before.updated, before.addedId]
      const query = session.shape(`pageByUpdated ${before !== undefined}`, () =>
        statements.pageByUpdated(before !== undefined),
      )
      return pageOf(query, [maxBodyOf(call), since, ...place, limit], call)
    },

    async count(call) {
      const { rows } = await session.run(
        session.shape('count', () => statements.count()),
        [],
        reading(call),
      )
      const row = rows[0] as Row
      const entities = toNumber(row.entities)
      return {
        entities,
        tombstones: toNumber(row.total) - entities,
        lastAddedId: toNumber(row.last_added_id ?? 0),
      }
    },
  }
}

/** Statements that lock rows in one order do not lock each other out. */
function inOrder<Item extends { readonly id: Uint8Array }>(rows: readonly Item[]): readonly Item[] {
  return rows.toSorted((a, b) => Buffer.compare(a.id, b.id))
}

function versionOf(row: Row | undefined): number | undefined {
  return row === undefined ? undefined : toNumber(row.version)
}

function entityRow(row: Row): EntityRow {
  return {
    id: row.id as Uint8Array,
    version: toNumber(row.version),
    updated: toNumber(row.updated_micros),
    body: row.body as Uint8Array | null,
  }
}

function isLeftOut(row: Row): boolean {
  return (row.body as Uint8Array | null)?.length === 0
}

function boundedRow(row: Row, lengths: ReadonlyMap<string, Row>): BoundedRow {
  const isShort = !isLeftOut(row)
  const body = row.body as Uint8Array | null
  return {
    id: row.id as Uint8Array,
    version: toNumber(row.version),
    updated: toNumber(row.updated_micros),
    body: isShort ? body : undefined,
    // It may have become a tombstone since, or be gone.
    bodyBytes: isShort
      ? (body?.length ?? 0)
      : toNumber(lengths.get(idKey(row.id as Uint8Array))?.body_bytes ?? 0),
  }
}

function maxBodyOf({ maxBody = Number.MAX_SAFE_INTEGER }: PageOptions = {}): number {
  return maxBody
}
