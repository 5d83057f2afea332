import {
  elapsedBy,
  idKey,
  isLooseleafError,
  isOutage,
  type CallOptions,
  type CatalogEntry,
} from '@looseleaf/core'
import { changeCatalog, keyIdentity, type EngineContext } from '@looseleaf/index-engine'
import { shardAt } from '@looseleaf/protocol'
import { candidatesOf, confirm } from '../check/confirm.ts'
import { joinRuns } from '../clean/run-record.ts'
import type { IndexPlace } from '../look/index-pages.ts'
import { inspect, type MissingRow } from '../look/inspect.ts'
import { readDerived } from '../look/read-entities.ts'
import { cleanableIndexes, indexTarget, tableOn, type IndexTarget } from '../pass/index-target.ts'
import { createPass } from '../pass/pass.ts'
import { chunks } from '../tools/chunks.ts'
import { loadWitnesses, saveWitnesses, type WitnessRecord } from './witness-record.ts'

/*
 * A table that somebody has emptied (TRUNCATE, DELETE) looks like one of an index with no rows, and no error says so. So the cleaner remembers some
 * rows of each table, its witnesses, and looks whether they are still there. A witness that is gone although its entity has the key is a
 * row that the table has lost.
 */

export interface WitnessOptions {
  readonly owner: string
  /** Whether this process follows the shard: one process looks at the witnesses there. */
  readonly isMine: (shard: number) => boolean
  readonly settleMs: number
}

export interface WitnessKeeper {
  /** Looks at the tables of ready indexes, once a minute at the most. An index that has lost rows is `building` afterwards, and is filled again. */
  look(options: CallOptions): Promise<void>
}

/** An index whose table on a shard has lost rows. */
interface LostTable {
  readonly entry: CatalogEntry
  readonly shard: number
}

const LOOK_MS = 60_000
const WITNESSES = 3
/** Tables whose witnesses are looked up together. */
const TABLES_AT_ONCE = 20
const worker = (owner: string): Parameters<typeof joinRuns>[2] => ({ owner, leaseMs: 5_000, pollMs: 100 })

export function createWitnessKeeper(
  context: EngineContext,
  { owner, isMine, settleMs }: WitnessOptions,
): WitnessKeeper {
  const elapsed = elapsedBy(context.time)
  let lookedAt = -Infinity
  /** Tables, with their shard, that seemed to have lost rows in the look before: what a writer or a cleaner had under way is done by the next. */
  const suspects = new Set<string>()

  /** The rows that this table of a shard has lost, of these. */
  async function lostOf(
    target: IndexTarget,
    shard: number,
    places: readonly IndexPlace[],
    options: CallOptions,
  ): Promise<readonly MissingRow[]> {
    const pass = createPass(context, { signal: options.signal })
    const ids = places.map(({ entityId }) => entityId)
    const found = await inspect(pass, [target], await readDerived(pass, [target], ids), { everywhere: false })
    const wanted = new Set(places.map(textOf))
    const isWanted = ({ entity, row }: MissingRow): boolean =>
      row.shard === shard && wanted.has(textOf({ key: row.key, entityId: entity.id }))
    const missing = found.missing.filter(isWanted)
    const confirmed = await confirm(pass, target, candidatesOf({ missing }), {
      direction: 'missing',
      settleMs,
    })
    return confirmed.missing.filter(isWanted)
  }

  /** Rows that writes have left to the cleaner are missing on purpose. */
  async function arePending(options: CallOptions): Promise<boolean> {
    if (!context.catalog.current().mayDefer) return false
    const pages = await Promise.all(
      context.driver.shards.map(({ pending }) => pending.page({ limit: 1 }, options)),
    )
    return pages.some(({ length }) => length > 0)
  }

  async function lookAtTable(
    target: IndexTarget,
    shard: number,
    record: WitnessRecord,
    gone: readonly IndexPlace[],
    options: CallOptions,
  ): Promise<LostTable | undefined> {
    const { table } = target.entry
    const suspect = `${shard} ${table}`
    const on = shardAt(context, shard)
    if (gone.length > 0 && (await lostOf(target, shard, gone, options)).length > 0) {
      if (await arePending(options)) return undefined
      if (!suspects.has(suspect)) return void suspects.add(suspect)
      suspects.delete(suspect)
      return { entry: target.entry, shard }
    }
    suspects.delete(suspect)
    if (gone.length === 0 && record.places.length >= WITNESSES) return undefined
    const places = await someRows(target, shard, options)
    if (places.map(textOf).join() === record.places.map(textOf).join()) return undefined
    await saveWitnesses(on, table, { places, lostAt: record.lostAt }, owner, options)
    return undefined
  }

  async function lookAtShard(
    targets: readonly IndexTarget[],
    shard: number,
    options: CallOptions,
  ): Promise<readonly LostTable[]> {
    const on = shardAt(context, shard)
    const tables = targets.map(({ entry }) => entry.table)
    const records = await loadWitnesses(on, tables, options)
    const lost: LostTable[] = []
    for (const some of chunks([...targets], TABLES_AT_ONCE)) {
      const places = some.map(({ entry }) => records.get(entry.table)?.places ?? [])
      const ids = places.flat().map(({ entityId }) => entityId)
      const rows =
        ids.length === 0
          ? []
          : await on.rowsOf(
              some.map(({ spec }) => spec),
              ids,
              options,
            )
      for (const [i, target] of some.entries()) {
        const there = new Set(rows[i]?.map(textOf))
        const gone = places[i]!.filter((place) => !there.has(textOf(place)))
        const record = records.get(target.entry.table) ?? { places: [], lostAt: 0 }
        const found = await lookAtTable(target, shard, record, gone, options)
        if (found !== undefined) lost.push(found)
      }
    }
    return lost
  }

  return {
    async look(options) {
      if (elapsed() - lookedAt < LOOK_MS) return
      const mine = Array.from(context.driver.shards.keys()).filter(isMine)
      if (mine.length === 0) return
      lookedAt = elapsed()
      const targets = cleanableIndexes(context)
        .filter(({ state }) => state === 'ready')
        .map((entry) => indexTarget(context, entry))
      const found = await Promise.all(
        mine.map((shard) =>
          lookAtShard(targets, shard, options).catch((error: unknown) => {
            // Other work on the shard tells of an outage, and an index that was dropped meanwhile has no rows to lose.
            if (isOutage(error) || isLooseleafError(error, 'INDEX_NOT_FOUND')) return []
            throw error
          }),
        ),
      )
      const lost = found.flat()
      if (lost.length === 0) return
      const lostAt = context.time.now()
      await beginAnew(
        context,
        lost.map(({ entry }) => entry),
        owner,
        options,
      )
      // Behind that, so that a process which dies in between has forgotten nothing.
      const record = { places: [], lostAt }
      for (const { entry, shard } of lost)
        await saveWitnesses(shardAt(context, shard), entry.table, record, owner, options)
    },
  }
}

/**
 * No process answers from these indexes, from within seconds on, until they were filled again. The change of the catalog has writes begin again that
 * are under way, whose rows may have been lost before they were committed.
 */
async function beginAnew(
  context: EngineContext,
  lost: readonly CatalogEntry[],
  owner: string,
  options: CallOptions,
): Promise<void> {
  const tables = new Set(lost.map(({ table }) => table))
  const isLost = ({ table, state }: CatalogEntry): boolean => state === 'ready' && tables.has(table)
  const catalog = await changeCatalog(
    context.driver,
    (indexes) =>
      indexes.some(isLost)
        ? indexes.map((entry) => (isLost(entry) ? { ...entry, state: 'building' as const } : entry))
        : undefined,
    options,
  )
  context.catalog.adopt(catalog)
  await joinRuns(context, [...tables], worker(owner), { ...options, restart: true })
  const names = [...new Set(lost.map(({ name }) => name))].join(', ')
  process.emitWarning(
    `The table of index ${names} has lost rows that its entities need, as by TRUNCATE or DELETE. The index is filled again, and its queries are refused until then.`,
    'LooseleafWarning',
  )
}

/** The first rows of a table and its last one. */
async function someRows(
  target: IndexTarget,
  shard: number,
  options: CallOptions,
): Promise<readonly IndexPlace[]> {
  const table = tableOn(target, shard)
  const first = await table.scan({ prefix: [], order: 'asc', limit: WITNESSES }, options)
  const last =
    first.length < WITNESSES ? [] : await table.scan({ prefix: [], order: 'desc', limit: 1 }, options)
  return [...first.slice(0, WITNESSES - last.length), ...last].map(({ key, entityId }) => ({ key, entityId }))
}

function textOf({ key, entityId }: IndexPlace): string {
  return `${idKey(entityId)} ${keyIdentity(key)}`
}
