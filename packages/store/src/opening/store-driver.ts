import { isLooseleafError, LooseleafError, type Driver, type Shard } from '@looseleaf/core'
import { interceptShard, type StoreEvents, type StoreLayout } from '@looseleaf/core/internal'
import { notMigrated, type StoreDriver } from '@looseleaf/index-engine/internal'
import { checkNumber, checkShard, type StoreIdentity } from './check-shard.ts'
import { lateShard } from './late-shard.ts'

/** Receives the warnings of shards that join later. */
export interface JoinReports {
  readonly onWarning: (message: string) => void
  readonly detached: StoreEvents['detached']
}

export interface StoreDriverOptions {
  /** Connects to the shards that are not in the list. */
  readonly driver: Driver
  readonly identity: StoreIdentity
  /** By shard number; undefined for a shard to which the driver connects by the layout. */
  readonly shards: readonly (Shard | undefined)[]
  /** Undefined if no shard is missing. */
  readonly layout?: StoreLayout | undefined
  readonly reports?: JoinReports | undefined
}

/** Creates the live list of a store's shards. */
export function createStoreDriver({
  driver,
  identity,
  shards: given,
  layout: first,
  reports,
}: StoreDriverOptions): StoreDriver {
  const shards: Shard[] = []

  function shardOf(
    number: number,
    { name }: StoreLayout['shards'][number],
    onAnswer?: (found: Shard) => void,
  ): Shard {
    const unusable = (error: unknown): unknown => unusableShard(number, name, error)
    let found: Shard
    try {
      found = connectTo(driver, name)
    } catch (error) {
      if (!isLooseleafError(error)) throw error
      return missingShard(driver, name, unusableShard(number, name, error))
    }
    return lateShard(found, {
      check(catalog) {
        if (catalog === undefined) throw notMigrated(found)
        checkShard(found, catalog, identity)
        checkNumber(found, catalog, number, `by the layout it is shard ${number}.`)
      },
      errorOf: unusable,
      onAnswer: () => onAnswer?.(found),
    })
  }

  function warnLater(found: Shard): void {
    // Runs in the background: no call waits for warnings.
    void reports?.detached(() => warnOfSettings(found, reports.onWarning)).catch(() => undefined)
  }

  // `DataStore.open` warns of these shards itself.
  for (const [number, shard] of given.entries())
    // `arrangeShards` gives a layout with every missing shard.
    shards.push(shard ?? shardOf(number, first!.shards[number]!))

  return {
    shards,
    ...(driver.shardAt && { shardAt: (address: string | object) => driver.shardAt!(address) }),
    follow(layout) {
      for (const shard of layout.shards.slice(shards.length))
        shards.push(shardOf(shards.length, shard, warnLater))
    },
    close: () => driver.close(),
  }
}

function connectTo(driver: Driver, name: string): Shard {
  if (driver.shardAt !== undefined) return driver.shardAt(name)
  throw new LooseleafError('BAD_OPTION', 'The driver knows only the shards that it was given.')
}

/** Stands for a shard to which there is no way. */
function missingShard({ shards: [any] }: Driver, name: string, error: unknown): Shard {
  const { replicas: _, connections: __, ...rest } = any!
  return interceptShard({ ...rest, name }, () => Promise.reject(error))
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

export async function warnOfSettings(shard: Shard, onWarning: (message: string) => void): Promise<void> {
  for (const warning of await shard.warnings()) onWarning(warning)
}
