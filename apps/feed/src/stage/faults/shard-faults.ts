import { interceptShard, type ShardCall as Call } from '@looseleaf/core/internal'
import type { Driver, DriverFactory, LooseleafError, Shard } from 'looseleaf'

/** A call to a shard before it is made. */
export interface ShardCall extends Call {
  /** The shard's name. */
  readonly shard: string
}

/** Returns an error to reject the call, or undefined to let it pass. Must not throw. */
export type Refuse = (call: ShardCall) => LooseleafError | undefined

/** Shards whose calls can be rejected, for demonstrations. */
export interface ShardFaults {
  /** The shards for `DataStore.open`. */
  readonly shards: DriverFactory
  /** Functions that are called before every call to a shard. */
  readonly refusals: Set<Refuse>
}

/** Wraps shards so that their calls can be rejected. */
export function createShardFaults(shards: DriverFactory): ShardFaults {
  const refusals = new Set<Refuse>()
  return {
    refusals,
    shards: {
      shardCount: shards.shardCount,
      async connect(options): Promise<Driver> {
        const driver = await shards.connect(options)
        const wrapped = new Map(driver.shards.map((shard) => [shard, breakable(shard, refusals)]))
        return {
          shards: [...wrapped.values()],
          ...(driver.shardAt && {
            shardAt(address: string | object) {
              const found = driver.shardAt!(address)
              let shard = wrapped.get(found)
              if (shard === undefined) wrapped.set(found, (shard = breakable(found, refusals)))
              return shard
            },
          }),
          close: () => driver.close(),
        }
      },
    },
  }
}

function breakable(shard: Shard, refusals: ReadonlySet<Refuse>): Shard {
  return interceptShard(shard, async (call, run) => {
    for (const refuse of refusals) {
      const refusal = refuse({ ...call, shard: shard.name })
      if (refusal !== undefined) throw refusal
    }
    return run()
  })
}
