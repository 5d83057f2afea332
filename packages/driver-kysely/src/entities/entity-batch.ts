import { isLooseleafError, LooseleafError } from '@looseleaf/core'
import {
  chunksBySize,
  idKey,
  type BatchOutcome,
  type BatchRow,
  type EntityHold,
  type EntityReplace,
  type EntityTable,
  type HandedClaim,
} from '@looseleaf/core/internal'
import { staleEpoch } from '../database/epoch-fence.ts'
import { toNumber } from '../database/row-values.ts'
import type { Call, Session } from '../database/session.ts'
import { checkWriteRows } from '../database/sql-parts.ts'
import {
  sortedById,
  type EntityCalls,
  type EntityTableOptions,
  type LocalRowStatements,
} from './entity-calls.ts'

/** Bytes of bodies per statement; one longer body goes alone. As text they are twice as long, and still within any packet limit. */
const STATEMENT_BYTES = 256 * 1024

/** Rows of a packet: its statement compares every row with every base. */
const MAX_PACKET_ROWS = 100

type Outcome = BatchOutcome | 'stale'

export interface BatchedTableOptions extends EntityTableOptions {
  /** Gives a claim to another entity within a transaction. Returns whether `from` held it. */
  handOver(claim: HandedClaim, call: Call, inner: Session): Promise<boolean>
}

/**
 * Creates `writeAll`. A batch that holds no rows, hands no claims over and is not too large is sent as one packet: pending rows, local claims
 * and local rows, the entities, deletes of local rows. One statement compares all entities with their bases and writes them, so every prefix
 * of the packet is right, even where a pooler takes it apart.
 *
 * Any other batch is one transaction, in which each statement is answered before the next is sent. So is a batch whose packet was refused: the
 * refusal does not tell which rows have lost.
 * 1. Locks held rows in share mode, then the others, each in the order of their ids, and compares their versions with the bases. Two batches that
 *    hold each other's rows may deadlock, which undoes one of them.
 * 2. Locks the catalog row in share mode, compares the epoch, and reads the time of writing. The floor stays at or below that time until
 *    the COMMIT.
 * 3. Hands claims over, writes pending rows, local claims and local rows, inserts new entities and overwrites locked ones, and deletes the
 *    local rows that they have lost.
 *
 * If step 1 or 2 ends the batch, nothing was written, and the COMMIT keeps the connection. Each statement checks its session: behind a
 * pooler that sends it to another session than the BEGIN, it fails.
 *
 * `around` returns the statements before the entities, pending rows included, and those behind them.
 */
export function createEntityBatch(
  { session, flavor, shardName, table, handOver }: BatchedTableOptions,
  { statements, writing, write: send, faults, select }: EntityCalls,
  around: LocalRowStatements,
): Pick<EntityTable, 'writeAll'> {
  const { parameters: sessionParameters } = flavor.ownSession

  /** Sends a batch without held rows and handed claims as one packet. Returns false if it was refused because of its rows or the epoch. */
  async function sendPacket(
    written: readonly EntityReplace[],
    epoch: number,
    lowestInsert: number,
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    const [first, ...rest] = written as [EntityReplace, ...EntityReplace[]]
    const count = written.length
    const stored = written.filter(({ base }) => base > 0)
    const query =
      stored.length === 0
        ? session.shape(`insert ${count} true`, () => statements.insert(count, true))
        : session.shape(`swapAll ${count} ${stored.length}`, () => statements.swapAll(count, stored.length))
    const parameters: unknown[] = [
      first.id,
      ...sessionParameters,
      first.version,
      epoch,
      lowestInsert,
      ...stored.map(({ id }) => id),
      first.body,
      ...rest.flatMap<unknown>(({ id, version, body }) => [id, version, body]),
      ...stored.flatMap<unknown>(({ id, base }) => [id, base]),
    ]
    const entities = { query, parameters, faults }
    try {
      await send([...around.before(written), entities, ...around.after(written)], { signal })
      return true
    } catch (error) {
      if (isLooseleafError(error, 'STALE_EPOCH') || isLooseleafError(error, 'ALREADY_EXISTS')) return false
      throw error
    }
  }

  async function lostRows(rows: readonly BatchRow[], call: Call, inner: Session): Promise<number[]> {
    const reading = { ...call, write: false }
    const idsOf = (some: readonly BatchRow[]): Uint8Array[] => sortedById(some).map(({ id }) => id)
    const held = await select('hold', idsOf(rows.filter(isHeld)), reading, [], inner)
    const locked = await select('lock', idsOf(rows.filter((row) => !isHeld(row))), reading, [], inner)
    return rows.flatMap((row, place) => {
      const found = (isHeld(row) ? held : locked).get(idKey(row.id))
      return toNumber(found?.version ?? 0) === row.base ? [] : [place]
    })
  }

  /** Returns the time of writing in µs since 1970; undefined if the shard refuses the writer. */
  async function fencedTime(
    epoch: number,
    lowestInsert: number,
    call: Call,
    inner: Session,
  ): Promise<number | undefined> {
    const query = session.shape('timeOfBatch', () => statements.timeOfBatch())
    const parameters = [...sessionParameters, epoch, lowestInsert]
    const [row] = (await inner.run(query, parameters, { ...call, write: false })).rows
    return row && toNumber(row.micros)
  }

  /** Inserts rows, or overwrites rows that step 1 has locked. */
  async function write(
    kind: 'insertOfBatch' | 'overwriteOfBatch',
    rows: readonly EntityReplace[],
    updated: number,
    call: Call,
    inner: Session,
  ): Promise<void> {
    for (const chunk of chunksOf(rows)) {
      const query = session.shape(`${kind} ${chunk.length}`, () => statements[kind](chunk.length))
      const parameters = chunk.flatMap<unknown>(({ id, version, body }, i) =>
        i === 0 ? [id, ...sessionParameters, version, updated, body] : [id, version, updated, body],
      )
      await inner.run(query, parameters, call)
    }
  }

  /** Finds the insertions that met a row: another writer has inserted it after step 1. */
  async function existing(rows: readonly BatchRow[], call: Call): Promise<readonly number[]> {
    const found = await select(
      'readVersions',
      rows.map(({ id }) => id),
      { ...call, write: false },
    )
    const places = rows.flatMap(({ base }, place) => (base === 0 ? [place] : []))
    const met = places.filter((place) => found.has(idKey(rows[place]!.id)))
    return met.length > 0 ? met : places
  }

  return {
    async writeAll(rows, { epoch, signal, claims = [] }) {
      if (rows.length === 0) return 'written'
      checkWriteRows(table, rows.length)
      const call = writing({ signal })
      const written = sortedById(rows.filter((row): row is EntityReplace => !isHeld(row)))
      const inserted = written.filter(({ base }) => base === 0)
      const replaced = written.filter(({ base }) => base > 0)
      const lowest = Math.min(...inserted.map(({ version }) => version), Number.MAX_SAFE_INTEGER)
      const isPacket =
        claims.length === 0 &&
        written.length === rows.length &&
        rows.length <= MAX_PACKET_ROWS &&
        chunksOf(written).length === 1
      if (isPacket && (await sendPacket(written, epoch, lowest, signal))) return 'written'
      let lostClaims: readonly number[] = []

      async function transact(inner: Session): Promise<Outcome> {
        const lost = await lostRows(rows, call, inner)
        if (lost.length > 0) return { lost }
        const updated = await fencedTime(epoch, lowest, call, inner)
        if (updated === undefined) return 'stale'
        for (const claim of claims) {
          if (await handOver(claim, call, inner)) continue
          // Thrown, because an earlier claim may have been handed over.
          lostClaims = [rows.findIndex(({ id }) => idKey(id) === idKey(claim.to.entityId))]
          throw new LooseleafError('CONFLICT', `${shardName}: another entity has a claim of this batch.`)
        }
        await inner.packet(around.before(written), call)
        await write('insertOfBatch', inserted, updated, call, inner)
        await write('overwriteOfBatch', replaced, updated, call, inner)
        await inner.packet(around.after(written), call)
        return 'written'
      }

      try {
        const outcome = await session.transaction(call, transact)
        if (outcome !== 'stale') return outcome
      } catch (error) {
        if (lostClaims.length > 0) return { lost: lostClaims }
        if (!isLooseleafError(error, 'ALREADY_EXISTS')) throw error
        return { lost: await existing(rows, call) }
      }
      throw new LooseleafError(staleEpoch[0], `${shardName}: ${staleEpoch[1]}`, { shard: shardName })
    },
  }
}

function isHeld(row: BatchRow): row is EntityHold {
  return row.version === undefined
}

/** Cuts rows into one chunk per statement, by the bytes of their bodies. */
function chunksOf(rows: readonly EntityReplace[]): readonly (readonly EntityReplace[])[] {
  return [...chunksBySize(rows, ({ body }) => body?.length ?? 0, STATEMENT_BYTES)]
}
