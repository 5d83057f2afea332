import { isLooseleafError, LooseleafError, type Driver, type Shard } from '@looseleaf/core'
import {
  badOption,
  interceptShard,
  platformTime,
  type StoreEvents,
  type StoreLayout,
} from '@looseleaf/core/internal'
import { isRemoved, type StoreDriver } from '@looseleaf/index-engine/internal'
import { checkLateShard, type StoreIdentity } from './check-shard.ts'
import { lateShard } from './late-shard.ts'

/** Milliseconds after which a process closes its connections to a database that is no shard any more. Well above the longest call. */
const LEAVE_MS = 60_000

/** Receives the warnings of shards that join later. */
export interface JoinReports {
  readonly onWarning: (message: string) => void
  readonly detached: StoreEvents['detached']
}

export interface StoreDriverOptions {
  /** Connects to the shards that are not in the list. */
  readonly driver: Driver
  readonly identity: StoreIdentity
  /** By shard number; undefined for a removed shard, and for one to which the driver connects by the layout. */
  readonly shards: readonly (Shard | undefined)[]
  readonly layout: StoreLayout | undefined
  readonly reports?: JoinReports | undefined
}

/** Creates the live list of a store's shards. */
export function createStoreDriver(options: StoreDriverOptions): StoreDriver {
  const { driver, identity, shards: given, layout: first, reports } = options
  const shards: Shard[] = []
  const removed = new Set<number>()
  /** Names by which the shards were found. The layout never renames a shard. */
  const names = new Map(first?.shards.map(({ name }, number) => [number, name]))
  /** Timers by the names of databases that are no shards any more, and are still connected. */
  const leaving = new Map<string, ReturnType<typeof platformTime.setTimeout>>()

  function shardOf(
    number: number,
    { name }: StoreLayout['shards'][number],
    onAnswer?: (found: Shard) => void,
  ): Shard {
    let found: Shard
    try {
      found = shardAt(name)
    } catch (error) {
      if (!isLooseleafError(error)) throw error
      return missingShard(driver, name, unusableShard(number, name, error))
    }
    return lateShard(found, {
      check: (catalog) =>
        checkLateShard(found, catalog, identity, number, `by the layout it is shard ${number}.`),
      errorOf: (error) => unusableShard(number, name, error),
      onAnswer: () => onAnswer?.(found),
    })
  }

  function remove(number: number, layout: StoreLayout): void {
    removed.add(number)
    takeOut(number, layout.shards[number]!.name, removedShard(driver, number, layout))
  }

  /**
   * Takes a database out of the list whose joining a crash has undone, and whose number another one has got since. Calls of that shard are refused
   * until the process opens the store again: its readers of changes have places of the first database.
   */
  function exchange(number: number, earlier: string, { name }: StoreLayout['shards'][number]): void {
    names.delete(number)
    const message = `Shard ${number} of the store is ${name}, but this process knows it as ${earlier}, whose joining was undone by a crash. Restart the process.`
    const error = new LooseleafError('SHARD_UNAVAILABLE', message, { shard: name })
    takeOut(number, earlier, missingShard(driver, name, error))
  }

  /**
   * Replaces a shard in the list. Its connections stay for a while: calls that began before are still sent through them, and a loop that meets `CLOSED` would take the store
   * for closed.
   */
  function takeOut(number: number, name: string, substitute: Shard): void {
    shards[number] = substitute
    const timer = platformTime.setTimeout(() => void leave(name), LEAVE_MS)
    timer.unref()
    leaving.set(name, timer)
  }

  async function leave(name: string): Promise<void> {
    platformTime.clearTimeout(leaving.get(name))
    leaving.delete(name)
    // An error at the end of a connection has no effect on the store.
    await driver.leave?.(name).catch(() => undefined)
  }

  /** Connects to an address; anew if that of a removed shard becomes the address of a new one. */
  function shardAt(address: string | object): Shard {
    if (driver.shardAt === undefined) throw badOption('The driver knows only the shards that it was given.')
    const found = driver.shardAt(address)
    if (!leaving.has(found.name)) return found
    // Only the end of the old connections takes time.
    void leave(found.name)
    return driver.shardAt(address)
  }

  // `DataStore.open` warns of these shards itself.
  for (const [number, shard] of given.entries()) {
    const isGone = shard === undefined && isRemoved(first, number)
    if (isGone) removed.add(number)
    // `arrangeShards` gives a layout with every missing shard.
    shards.push(
      shard ?? (isGone ? removedShard(driver, number, first!) : shardOf(number, first!.shards[number]!)),
    )
  }

  return {
    shards,
    removed,
    ...(driver.shardAt && { shardAt }),
    ...(driver.leave && { leave }),
    follow(layout, gone) {
      for (const [number, shard] of layout.shards.entries()) {
        if (removed.has(number)) continue
        const earlier = names.get(number)
        if (gone.includes(number)) remove(number, layout)
        else if (number >= shards.length) {
          names.set(number, shard.name)
          shards.push(shardOf(number, shard, (found) => warnLater(found, reports)))
        } else if (earlier !== undefined && earlier !== shard.name) exchange(number, earlier, shard)
      }
    },
    async close() {
      // The files of a removed shard may be gone, and are not missed.
      await Promise.all(Array.from(leaving.keys(), leave))
      await driver.close()
    },
  }
}

/** Stands for a shard to which there is no way. */
function missingShard({ shards: [any] }: Driver, name: string, error: unknown): Shard {
  const { replicas: _, connections: __, ...rest } = any!
  return interceptShard({ ...rest, name }, async () => {
    // The list of shards changes just before the catalog in memory, which tells a caller what the error means.
    await new Promise((resolve) => platformTime.setImmediate(resolve))
    throw error
  })
}

/** Stands for a removed shard. A call that began before its process had noticed the removal gets the error, and begins again. */
function removedShard(driver: Driver, number: number, layout: StoreLayout): Shard {
  const { name } = layout.shards[number]!
  const message = `Shard ${number}, ${name}, was removed from the store.`
  return missingShard(driver, name, new LooseleafError('SHARD_UNAVAILABLE', message, { shard: name }))
}

/** Makes the error of a joined shard that this process cannot use. It is an outage of that shard: calls that do not need it go on. */
function unusableShard(number: number, name: string, error: unknown): unknown {
  if (!isLooseleafError(error) || error.code === 'CLOSED' || error.code === 'STORE_TOO_NEW') return error
  return new LooseleafError(
    'SHARD_UNAVAILABLE',
    `Shard ${number} of the store, ${name}, cannot be used by this process, which was not given it and connects to it by its address in the catalog. ${error.message} To do: make the shard accept this process, or open the store with its address in the list, or with the option \`connection\`.`,
    { shard: name, cause: error },
  )
}

/** Warns of unsafe settings in the background: no call waits for warnings. */
export function warnLater(shard: Shard, reports: JoinReports | undefined): void {
  void reports?.detached(() => warnOfSettings(shard, reports.onWarning)).catch(() => undefined)
}

export async function warnOfSettings(shard: Shard, onWarning: (message: string) => void): Promise<void> {
  for (const warning of await shard.warnings()) onWarning(warning)
}
