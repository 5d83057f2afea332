import type { Driver, Shard } from '@looseleaf/core'
import { createGate } from '@looseleaf/core/internal'
import { CLOSED, kyselyShard, type KyselyShardOptions } from './shard.ts'

/** A database that `shardAt` connects to. */
export interface FoundDatabase {
  readonly name: string
  /** True if the address has credentials of its own, which may differ from those of an earlier address of this name. Default: false. */
  readonly hasCredentials?: boolean | undefined
  /** Returns the options of its shard. Called at the first address of this name, and at each other one with credentials. */
  open(): Omit<KyselyShardOptions, 'gate'>
}

export interface KyselyDriverOptions {
  readonly shards: readonly Omit<KyselyShardOptions, 'gate'>[]
  /** Finds the database of an address, for `Driver.shardAt`. Throws `BAD_OPTION`. Default: the driver knows `shards` only. */
  readonly databaseAt?: ((address: string | object) => FoundDatabase) | undefined
  /** Closes the connections to one of the databases, for `Driver.leave`. Default: they stay open until `closeConnections`. */
  readonly disconnect?: ((name: string) => Promise<void>) | undefined
  /** Closes the connections once no statement is in flight. */
  readonly closeConnections: () => Promise<void>
}

/** Creates core's `Driver` over one `kyselyShard` per database. */
export function kyselyDriver({
  shards,
  databaseAt,
  disconnect,
  closeConnections,
}: KyselyDriverOptions): Driver {
  const gate = createGate(CLOSED)
  const created = shards.map((options) => kyselyShard({ ...options, gate }))
  const given = new Map<string, Shard>(created.map((shard) => [shard.name, shard]))
  const connected = new Map<string, { readonly address: string | object; readonly shard: Shard }>()
  let closed: Promise<void> | undefined

  return {
    shards: created,
    ...(databaseAt && {
      shardAt(address: string | object) {
        const found = databaseAt(address)
        const { name, hasCredentials = false } = found
        const known = given.get(name)
        if (known !== undefined) return known
        const last = connected.get(name)
        if (last !== undefined && (!hasCredentials || last.address === address)) return last.shard
        const shard = kyselyShard({ ...found.open(), gate })
        connected.set(name, { address, shard })
        return shard
      },
    }),
    ...(disconnect && {
      async leave(name: string) {
        given.delete(name)
        connected.delete(name)
        await disconnect(name)
      },
    }),
    close() {
      closed ??= gate.close().then(closeConnections)
      return closed
    },
  }
}
