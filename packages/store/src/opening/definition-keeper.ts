import {
  inBackground,
  describeKind,
  elapsedBy,
  isOutage,
  isLooseleafError,
  type LooseleafError,
  type CodecDefinitions,
  type Definition,
  type Driver,
  type Shard,
  type StoredDefinition,
  type StoreEvents,
  type Time,
} from '@looseleaf/core'
import type { CatalogHolder } from '@looseleaf/index-engine'
import { publishDefinitions } from '../catalog/publish-definitions.ts'
import { suppliedShard } from './supplied-shard.ts'

/** After a publication that failed the next one begins so much later. */
const RETRY_MS = 10_000
/** While it writes, a process looks this often whether all shards still have what its bodies refer to. */
const CHECK_MS = 30_000
/** An id that no shard had is not looked for again for so long, and so many of these are kept in mind. */
const UNKNOWN_MS = 1_000
const MAX_UNKNOWN = 1_000

/** Keeps the codec of a store supplied with the definitions that its bodies refer to. */
export interface DefinitionKeeper {
  /** The same shards: what is read from them comes when its definitions are known, and writes are seen. */
  readonly driver: Driver
  /** Loads all that the shards have; those that do not answer are left out. */
  loadAll(catalog: CatalogHolder, answering: readonly Shard[]): Promise<void>
}

export interface KeeperOptions {
  readonly time: Time
  readonly onWarning: (message: string) => void
  readonly detached: StoreEvents['detached']
}

export function createDefinitionKeeper(
  inner: Driver,
  codec: CodecDefinitions,
  { time, onWarning, detached }: KeeperOptions,
): DefinitionKeeper {
  const elapsed = elapsedBy(time)
  const quietTime = inBackground(time)
  const stop = new AbortController()
  /** Known, and perhaps not on every shard. */
  const unsettled = new Map<string, Definition>()
  const looking = new Map<string, Promise<void>>()
  const unknownUntil = new Map<string, number>()
  const told = new Set<string>()
  let holder: CatalogHolder | undefined
  let publishing: Promise<void> | undefined
  let nextAt = -Infinity
  let checkAt = elapsed() + CHECK_MS

  function tellOnce(message: string): void {
    if (told.has(message) || told.size > 100) return
    told.add(message)
    onWarning(message)
  }

  function take(shard: Shard, stored: StoredDefinition): boolean {
    if (codec.learn(stored)) return true
    tellOnce(
      `${shard.name}: the row ${JSON.stringify(stored.id.slice(0, 40))} of looseleaf_codec is not what its id stands for, or of a kind that this process does not know. It is not used.`,
    )
    return false
  }

  /**
   * From the shard whose body refers to it, where it nearly always is, or from any other. Rejects with what a shard has failed with,
   * unless another one has it: a body is of an unknown format only if all were asked and none knows.
   */
  async function find(id: string, first: Shard): Promise<void> {
    const others = inner.shards.filter((shard) => shard !== first)
    const failures: LooseleafError[] = []
    for (const shard of [first, ...others]) {
      const rows = await shard.definitions.read([id]).catch((error: unknown) => {
        if (!isLooseleafError(error)) throw error
        if (error.code !== 'NOT_MIGRATED') failures.push(error)
        return []
      })
      const found = rows.find((row) => take(shard, row))
      if (found === undefined) continue
      unsettled.set(id, found)
      publish()
      return
    }
    if (failures[0] !== undefined) throw failures[0]
    if (unknownUntil.size >= MAX_UNKNOWN) unknownUntil.clear()
    unknownUntil.set(id, elapsed() + UNKNOWN_MS)
  }

  async function load(ids: ReadonlySet<string>, shard: Shard): Promise<void> {
    const searches = Array.from(ids, (id) => {
      if ((unknownUntil.get(id) ?? -Infinity) > elapsed()) return undefined
      let search = looking.get(id)
      if (search === undefined) {
        search = find(id, shard).finally(() => looking.delete(id))
        looking.set(id, search)
      }
      return search
    })
    await Promise.all(searches)
  }

  /** Beside whatever goes on; nobody waits for it. */
  function publish(): void {
    if (publishing !== undefined || holder === undefined || stop.signal.aborted) return
    const wanted = codec.writes ? codec.wanted() : []
    if ((wanted.length === 0 && unsettled.size === 0) || elapsed() < nextAt) return
    const some = new Map([...unsettled.values(), ...wanted].map((one) => [one.id, one]))
    const catalog = holder
    publishing = detached(() => publishAll(catalog, some)).finally(() => {
      publishing = undefined
    })
  }

  /** A shard that fails over to an older state may have lost what is confirmed, and all that is written from then on would need it. */
  function onWritten(): void {
    if (codec.writes && elapsed() >= checkAt) {
      checkAt = elapsed() + CHECK_MS
      for (const stored of codec.known()) unsettled.set(stored.id, stored)
    }
    publish()
  }

  async function publishAll(catalog: CatalogHolder, some: ReadonlyMap<string, Definition>): Promise<void> {
    const { signal } = stop
    try {
      const through = { driver: inner, catalog, time: quietTime }
      const confirmed = await publishDefinitions(through, codec, [...some.values()], { signal })
      for (const id of some.keys()) unsettled.delete(id)
      // Some shard has another content under an id: it is no use to ask after each write.
      if (confirmed.length < some.size) nextAt = elapsed() + RETRY_MS
    } catch (error) {
      nextAt = elapsed() + RETRY_MS
      if (isOutage(error) || signal.aborted) return
      const why = isLooseleafError(error) ? error.message : describeKind(error)
      tellOnce(`Definitions of the codec were not published: ${why}`)
    }
  }

  const shards = inner.shards.map((shard) =>
    suppliedShard(shard, {
      missing: (body) => codec.missing(body),
      load: (ids) => load(ids, shard),
      onWritten,
    }),
  )

  return {
    driver: {
      shards,
      async close() {
        stop.abort()
        await publishing
        await inner.close()
      },
    },
    async loadAll(catalog, answering) {
      holder = catalog
      if (!catalog.current().hasDefinitions) return
      const onShards = await Promise.all(
        answering.map(async (shard) => {
          const rows = await shard.definitions.all().catch((error: unknown) => {
            if (isOutage(error) || isLooseleafError(error, 'NOT_MIGRATED')) return []
            throw error
          })
          return new Map(rows.filter((row) => take(shard, row)).map((row) => [row.id, row]))
        }),
      )
      for (const stored of codec.known()) {
        const isEverywhere =
          answering.length === inner.shards.length && onShards.every((rows) => rows.has(stored.id))
        if (isEverywhere) codec.confirm(stored.id)
        else unsettled.set(stored.id, stored)
      }
      publish()
    },
  }
}
