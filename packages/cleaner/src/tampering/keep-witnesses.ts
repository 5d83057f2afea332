import { isLooseleafError, type CallOptions } from '@looseleaf/core'
import { chunks, elapsedBy, isOutage, type CatalogEntry } from '@looseleaf/core/internal'
import {
  changeCatalog,
  presentNumbers,
  presentShards,
  type EngineContext,
} from '@looseleaf/index-engine/internal'
import { rowText, shardAt, type IndexPlace } from '@looseleaf/protocol/internal'
import { candidatesOf, confirm } from '../check/confirm.ts'
import { joinRuns } from '../clean/run-record.ts'
import { inspect, type MissingRow } from '../look/inspect.ts'
import { readDerived } from '../look/read-entities.ts'
import { cleanableIndexes, indexTarget, tableOn, type IndexTarget } from '../pass/index-target.ts'
import { createPass } from '../pass/pass.ts'
import { loadWitnesses, saveWitnesses, type WitnessRecord } from './witness-record.ts'

/*
 * An index table that was emptied by hand (TRUNCATE, DELETE) causes no error: queries just find no rows. To notice this, the cleaner remembers
 * some rows of each table, its witnesses, and looks them up regularly. If a witness is gone although its entity still has the key, the table
 * was emptied.
 */

export interface WitnessOptions {
  readonly owner: string
  /** Tells whether this process follows the shard. Only that process looks at the witnesses there. */
  readonly isMine: (shard: number) => boolean
  readonly settleMs: number
}

export interface WitnessKeeper {
  /** Looks up the witnesses of ready indexes, at most once a minute. An index with an emptied table becomes `building`, and is filled again. */
  look(options: CallOptions): Promise<void>
}

/** An index, and the shard on which its table was emptied. */
interface EmptiedTable {
  readonly entry: CatalogEntry
  readonly shard: number
}

const LOOK_MS = 60_000
const WITNESSES = 3
/** Tables whose witnesses are looked up together. */
const TABLES_AT_ONCE = 20

export function createWitnessKeeper(
  context: EngineContext,
  { owner, isMine, settleMs }: WitnessOptions,
): WitnessKeeper {
  const elapsed = elapsedBy(context.time)
  let lookedAt = -Infinity
  /**
   * Tables, with their shard, that seemed emptied at the last look. Only a second look confirms it, because by then the work of writers and
   * cleaners that was in flight has ended.
   */
  const suspects = new Set<string>()

  /** Returns those of these rows that a table of a shard lacks although their entities have the keys. */
  async function missingWitnesses(
    target: IndexTarget,
    shard: number,
    places: readonly IndexPlace[],
    options: CallOptions,
  ): Promise<readonly MissingRow[]> {
    const pass = createPass(context, { signal: options.signal })
    const ids = places.map(({ entityId }) => entityId)
    const found = await inspect(pass, [target], await readDerived(pass, [target], ids), { everywhere: false })
    const wanted = new Set(places.map(rowText))
    const isWanted = ({ entity, row }: MissingRow): boolean =>
      row.shard === shard && wanted.has(rowText({ key: row.key, entityId: entity.id }))
    const missing = found.missing.filter(isWanted)
    const confirmed = await confirm(pass, target, candidatesOf({ missing }), {
      direction: 'missing',
      settleMs,
    })
    return confirmed.missing.filter(isWanted)
  }

  /** Tells whether writes have left rows pending, which are missing on purpose. */
  async function hasPendingRows(options: CallOptions): Promise<boolean> {
    if (!context.catalog.current().mayDefer) return false
    const pages = await Promise.all(
      presentShards(context.driver).map(({ pending }) => pending.page({ limit: 1 }, options)),
    )
    return pages.some(({ length }) => length > 0)
  }

  async function lookAtTable(
    target: IndexTarget,
    shard: number,
    record: WitnessRecord,
    gone: readonly IndexPlace[],
    options: CallOptions,
  ): Promise<EmptiedTable | undefined> {
    const { table } = target.entry
    const suspect = `${shard} ${table}`
    const on = shardAt(context, shard)
    if (gone.length > 0 && (await missingWitnesses(target, shard, gone, options)).length > 0) {
      if (await hasPendingRows(options)) return undefined
      if (!suspects.has(suspect)) return void suspects.add(suspect)
      suspects.delete(suspect)
      return { entry: target.entry, shard }
    }
    suspects.delete(suspect)
    if (gone.length === 0 && record.places.length >= WITNESSES) return undefined
    const places = await chooseWitnesses(target, shard, options)
    if (places.map(rowText).join() === record.places.map(rowText).join()) return undefined
    await saveWitnesses(on, table, { places, lostAt: record.lostAt }, owner, options)
    return undefined
  }

  async function lookAtShard(
    targets: readonly IndexTarget[],
    shard: number,
    options: CallOptions,
  ): Promise<readonly EmptiedTable[]> {
    const on = shardAt(context, shard)
    const tables = targets.map(({ entry }) => entry.table)
    const records = await loadWitnesses(on, tables, options)
    const emptied: EmptiedTable[] = []
    for (const chunk of chunks([...targets], TABLES_AT_ONCE)) {
      const places = chunk.map(({ entry }) => records.get(entry.table)?.places ?? [])
      const ids = places.flat().map(({ entityId }) => entityId)
      const rows = await on.rowsOf(
        chunk.map(({ spec }) => spec),
        ids,
        options,
      )
      for (const [i, target] of chunk.entries()) {
        const existing = new Set(rows[i]?.map(rowText))
        const gone = places[i]!.filter((place) => !existing.has(rowText(place)))
        const record = records.get(target.entry.table) ?? { places: [], lostAt: 0 }
        const found = await lookAtTable(target, shard, record, gone, options)
        if (found !== undefined) emptied.push(found)
      }
    }
    return emptied
  }

  return {
    async look(options) {
      if (elapsed() - lookedAt < LOOK_MS) return
      const mine = presentNumbers(context.driver).filter(isMine)
      if (mine.length === 0) return
      lookedAt = elapsed()
      const targets = cleanableIndexes(context)
        .filter(({ state }) => state === 'ready')
        .map((entry) => indexTarget(context, entry))
      const found = await Promise.all(
        mine.map((shard) =>
          lookAtShard(targets, shard, options).catch((error: unknown) => {
            // Other work on the shard reports an outage, and a dropped index has no witnesses.
            if (isOutage(error) || isLooseleafError(error, 'INDEX_NOT_FOUND')) return []
            throw error
          }),
        ),
      )
      const emptied = found.flat()
      if (emptied.length === 0) return
      const lostAt = context.time.now()
      await refill(
        context,
        emptied.map(({ entry }) => entry),
        owner,
        options,
      )
      // The witnesses are cleared last: if the process dies before, another one finds the emptied table again.
      const record = { places: [], lostAt }
      for (const { entry, shard } of emptied)
        await saveWitnesses(shardAt(context, shard), entry.table, record, owner, options)
    },
  }
}

/**
 * Begins runs that fill these indexes, then makes them `building`, so that within seconds no process answers queries from them.
 *
 * A change of the catalog comes first, by which writes in flight start over: their rows may have been deleted before they were committed, and
 * the runs may have read the entities by then.
 *
 * The indexes are `building` last, because a worker that finds one makes it ready when its run is over:
 * 1. The last worker of the earlier run makes the index ready, and is suspended before it ends the run.
 * 2. The index is `building` again. Another worker joins the earlier run, finds nothing left to do, and makes the index ready without its rows.
 *
 * This changes the catalog even if another cleaner has made them `building`: a worker that read the record of its run before these began, and would
 * make an index ready by it, looks at the record again.
 */
async function refill(
  context: EngineContext,
  emptied: readonly CatalogEntry[],
  owner: string,
  options: CallOptions,
): Promise<void> {
  const tables = new Set(emptied.map(({ table }) => table))
  const isEmptied = ({ table, state }: CatalogEntry): boolean => state === 'ready' && tables.has(table)
  await changeCatalog(context.driver, (indexes) => indexes, options)
  await joinRuns(context, [...tables], { owner, leaseMs: 5_000, pollMs: 100 }, { ...options, restart: true })
  const catalog = await changeCatalog(
    context.driver,
    (indexes) =>
      indexes.map((entry) => (isEmptied(entry) ? { ...entry, state: 'building' as const } : entry)),
    options,
  )
  context.catalog.adopt(catalog)
  const names = [...new Set(emptied.map(({ name }) => name))].join(', ')
  context.onWarning(
    `The table of index ${names} was emptied, as by TRUNCATE or DELETE: it lacks rows that its entities need. The index is now filled again, and its queries fail until then.`,
  )
}

/** Reads the first rows of a table and its last one. */
async function chooseWitnesses(
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
