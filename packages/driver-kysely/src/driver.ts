import type { Driver, Shard } from '@looseleaf/core'
import { createGate } from '@looseleaf/core/internal'
import { CLOSED, kyselyShard, type KyselyShardOptions } from './shard.ts'

/** A database that `shardAt` connects to. */
export interface FoundDatabase {
  readonly name: string
  /** Returns the options of its shard. Called once per name. */
  open(): Omit<KyselyShardOptions, 'gate'>
}

export interface KyselyDriverOptions {
  readonly shards: readonly Omit<KyselyShardOptions, 'gate'>[]
  /** Finds the database of an address, for `Driver.shardAt`. Throws `BAD_OPTION`. Default: the driver knows `shards` only. */
  readonly databaseAt?: ((address: string | object) => FoundDatabase) | undefined
  /** Closes the connections once no statement is in flight. */
  readonly closeConnections: () => Promise<void>
}

/** Creates core's `Driver` over one `kyselyShard` per database. */
export function kyselyDriver({ shards, databaseAt, closeConnections }: KyselyDriverOptions): Driver {
  const gate = createGate(CLOSED)
  const created = shards.map((options) => kyselyShard({ ...options, gate }))
  const byName = new Map<string, Shard>(created.map((shard) => [shard.name, shard]))
  let closed: Promise<void> | undefined

  return {
    shards: created,
    ...(databaseAt && {
      shardAt(address: string | object) {
        const found = databaseAt(address)
        let shard = byName.get(found.name)
        if (shard === undefined) byName.set(found.name, (shard = kyselyShard({ ...found.open(), gate })))
        return shard
      },
    }),
    close() {
      closed ??= gate.close().then(closeConnections)
      return closed
    },
  }
}
