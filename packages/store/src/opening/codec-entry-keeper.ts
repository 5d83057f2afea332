import { isLooseleafError, type LooseleafError, type Shard, type Time } from '@looseleaf/core'
import {
  describeKind,
  elapsedBy,
  inBackground,
  isOutage,
  type CodecEntries,
  type CodecEntry,
  type StoredCodecEntry,
  type StoreEvents,
} from '@looseleaf/core/internal'
import { presentShards, type CatalogHolder, type StoreDriver } from '@looseleaf/index-engine/internal'
import { publishCodecEntries } from '../catalog/publish-codec-entries.ts'
import type { StoredCodecEntries } from './stored-bodies.ts'

/** Milliseconds after a failed publication before the next one. */
const RETRY_MS = 10_000
/** Milliseconds after which a process that writes checks whether all shards still have the codec entries of its bodies. */
const CHECK_MS = 30_000
/** Milliseconds for which an id that no shard has is not looked up again, and the number of such ids that are remembered. */
const UNKNOWN_MS = 1_000
const MAX_UNKNOWN = 1_000
/** Different warnings of one process. */
const MAX_WARNINGS = 100

/** Supplies the codec of a store with the codec entries that bodies refer to, and stores new ones on every shard. */
export interface CodecEntryKeeper extends StoredCodecEntries {
  /** Loads the codec entries of the shards that answer. */
  loadAll(catalog: CatalogHolder, answering: readonly Shard[]): Promise<void>
  /** Ends the publication in progress. */
  close(): Promise<void>
}

export interface KeeperOptions {
  readonly time: Time
  readonly onWarning: (message: string) => void
  readonly detached: StoreEvents['detached']
}

export function createCodecEntryKeeper(
  driver: StoreDriver,
  codec: CodecEntries,
  { time, onWarning, detached }: KeeperOptions,
): CodecEntryKeeper {
  const elapsed = elapsedBy(time)
  const backgroundTime = inBackground(time)
  const stop = new AbortController()
  /** Codec entries that some shard may lack, without those of the publication in progress. */
  const unsettled = new Map<string, CodecEntry>()
  const searches = new Map<string, Promise<void>>()
  const unknownUntil = new Map<string, number>()
  const warned = new Set<string>()
  let holder: CatalogHolder | undefined
  let publishing: Promise<void> | undefined
  let publishAt = -Infinity
  let checkAt = elapsed() + CHECK_MS

  function warnOnce(message: string): void {
    if (warned.has(message) || warned.size >= MAX_WARNINGS) return
    warned.add(message)
    onWarning(message)
  }

  function take(shard: Shard, stored: StoredCodecEntry): boolean {
    if (codec.learn(stored)) return true
    warnOnce(
      `${shard.name}: the row ${JSON.stringify(stored.id.slice(0, 40))} of looseleaf_codec is not used: its content does not match its id, or this process does not know its kind.`,
    )
    return false
  }

  /**
   * Reads a codec entry from the shard whose body refers to it, or else from the others. If none has it, rejects with the error of a shard
   * that failed: a body is of an unknown format only if every shard was asked.
   */
  async function find(id: string, name: string): Promise<void> {
    const failures: LooseleafError[] = []
    const isFirst = (shard: Shard): number => Number(shard.name === name)
    for (const shard of presentShards(driver).toSorted((a, b) => isFirst(b) - isFirst(a))) {
      const rows = await shard.codecEntries.read([id]).catch((error: unknown) => {
        if (!isLooseleafError(error)) throw error
        if (error.code !== 'NOT_MIGRATED') failures.push(error)
        return []
      })
      const found = rows.find((row) => take(shard, row))
      if (found === undefined) continue
      unsettled.set(id, found)
      publishNow()
      return
    }
    if (failures[0] !== undefined) throw failures[0]
    if (unknownUntil.size >= MAX_UNKNOWN) unknownUntil.clear()
    unknownUntil.set(id, elapsed() + UNKNOWN_MS)
  }

  async function load(ids: readonly string[], shard: string): Promise<void> {
    const needed = ids.map((id) => {
      if ((unknownUntil.get(id) ?? -Infinity) > elapsed()) return undefined
      let search = searches.get(id)
      if (search === undefined) {
        search = find(id, shard).finally(() => searches.delete(id))
        searches.set(id, search)
      }
      return search
    })
    await Promise.all(needed)
  }

  /** Publishes in the background, if there is something to publish. */
  function publishNow(): void {
    if (publishing !== undefined || holder === undefined || stop.signal.aborted) return
    const wanted = codec.writes ? codec.wanted() : []
    if ((wanted.length === 0 && unsettled.size === 0) || elapsed() < publishAt) return
    const entries = new Map([...unsettled.values(), ...wanted].map((entry) => [entry.id, entry]))
    // Before the publication: an entry of a check that is due meanwhile is for the next one.
    unsettled.clear()
    const catalog = holder
    publishing = detached(() => publishAll(catalog, entries)).finally(() => {
      publishing = undefined
    })
  }

  /**
   * Publishes after a write, and now and then all codec entries again: a failover may lose a confirmed one, and every later body would refer
   * to it.
   */
  function publish(): void {
    if (codec.writes && elapsed() >= checkAt) {
      checkAt = elapsed() + CHECK_MS
      for (const stored of codec.known()) unsettled.set(stored.id, stored)
    }
    publishNow()
  }

  async function publishAll(catalog: CatalogHolder, entries: ReadonlyMap<string, CodecEntry>): Promise<void> {
    const { signal } = stop
    try {
      const ports = { driver, catalog, time: backgroundTime }
      const confirmed = await publishCodecEntries(ports, codec, [...entries.values()], { signal })
      // A shard has another content under an id, so a retry after each write would not help.
      if (confirmed.length < entries.size) publishAt = elapsed() + RETRY_MS
    } catch (error) {
      for (const entry of entries.values()) unsettled.set(entry.id, entry)
      publishAt = elapsed() + RETRY_MS
      if (isOutage(error) || signal.aborted) return
      const problem = isLooseleafError(error) ? error.message : describeKind(error)
      warnOnce(`Shapes or dictionaries of the codec were not stored: ${problem}`)
    }
  }

  return {
    load,
    publish,
    async close() {
      stop.abort()
      await publishing
    },
    async loadAll(catalog, answering) {
      holder = catalog
      if (!catalog.current().hasDefinitions) return
      const onShards = await Promise.all(
        answering.map(async (shard) => {
          const rows = await shard.codecEntries.all().catch((error: unknown) => {
            if (isOutage(error) || isLooseleafError(error, 'NOT_MIGRATED')) return []
            throw error
          })
          return new Map(rows.filter((row) => take(shard, row)).map((row) => [row.id, row]))
        }),
      )
      for (const stored of codec.known()) {
        const isEverywhere =
          answering.length === presentShards(driver).length && onShards.every((rows) => rows.has(stored.id))
        if (isEverywhere) codec.confirm(stored.id)
        else unsettled.set(stored.id, stored)
      }
      publishNow()
    },
  }
}
