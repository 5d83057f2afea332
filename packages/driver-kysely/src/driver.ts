import type { Driver } from '@looseleaf/core'
import { createGate } from '@looseleaf/core/internal'
import { CLOSED, kyselyShard, type KyselyShardOptions } from './shard.ts'

export interface KyselyDriverOptions {
  readonly shards: readonly Omit<KyselyShardOptions, 'gate'>[]
  /** Closes the connections once no statement is in flight. */
  readonly closeConnections: () => Promise<void>
}

/** Creates core's `Driver` over one `kyselyShard` per database. */
export function kyselyDriver({ shards, closeConnections }: KyselyDriverOptions): Driver {
  const gate = createGate(CLOSED)
  let closed: Promise<void> | undefined

  return {
    shards: shards.map((options) => kyselyShard({ ...options, gate })),
    close() {
      closed ??= gate.close().then(closeConnections)
      return closed
    },
  }
}
