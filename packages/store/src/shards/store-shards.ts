import type { CallOptions, LooseleafError } from '@looseleaf/core'
import { isLooseleafError } from '@looseleaf/core'
import { checkOptions } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { optionsOf } from '../call-options.ts'
import type { StoreCalls } from '../observing/store-calls.ts'
import { addShard, type AddedShard, type AddShardOptions } from './add-shard.ts'

/** The shards of a store: `store.shards`. */
export interface StoreShards {
  /** Lists all shards by number. Shards that do not answer have their error. Rejects if no shard answers. */
  list(options?: CallOptions): Promise<readonly ListedShard[]>
  /**
   * Makes an empty database a shard of the store, while the store is in use. Takes an address such as `host:port/database`, whose
   * credentials come from the driver, or a URL or options with credentials of their own. A joined shard owns no buckets yet, so no
   * entity is stored there.
   *
   * Checks the database first, and changes nothing if it does not fit. Needs every shard. Any step may be repeated: after a crash or an
   * error, call it again with the same address. Resolves with `added: false` if the shard had joined before. Rejects with
   * `LAYOUT_MISMATCH` for a database of another store, for a second address of a shard, and for a store whose router has no buckets.
   */
  add(shard: string | object, options?: AddShardOptions): Promise<AddedShard>
}

export interface ListedShard {
  readonly number: number
  /** Its address without credentials. */
  readonly address: string
  /** `joining`: its tables are being made. Run `add` again if that was interrupted. */
  readonly state: 'joining' | 'serving' | 'draining' | 'removed'
  /** Number of its buckets; undefined for a router without buckets. */
  readonly buckets: number | undefined
  /** The error of the shard; undefined if this process reaches it. */
  readonly error: LooseleafError | undefined
}

export function createStoreShards(context: EngineContext, calls: StoreCalls): StoreShards {
  return {
    async list(options = {}) {
      checkOptions('shards.list', options, optionsOf.call)
      return calls.pass('shards.list', () => listShards(context, options))
    },
    async add(shard, options = {}) {
      checkOptions('shards.add', options, optionsOf.addShard)
      return calls.pass('shards.add', () => addShard(context, shard, options))
    },
  }
}

async function listShards(
  { driver, catalog }: EngineContext,
  options: CallOptions,
): Promise<readonly ListedShard[]> {
  const { layout, placement } = await catalog.reload(options)
  const counts = new Map<number, number>()
  for (const shard of placement.shardOfBucket ?? []) counts.set(shard, (counts.get(shard) ?? 0) + 1)
  return Promise.all(
    driver.shards.map(async (shard, number): Promise<ListedShard> => {
      const error = await shard.catalog.load(options).then(
        () => undefined,
        (reason: unknown) => {
          if (!isLooseleafError(reason) || reason.code === 'ABORTED' || reason.code === 'CLOSED') throw reason
          return reason
        },
      )
      return {
        number,
        address: layout?.shards[number]?.name ?? shard.name,
        state: layout?.shards[number]?.state ?? 'serving',
        buckets: layout?.scheme === undefined ? undefined : (counts.get(number) ?? 0),
        error,
      }
    }),
  )
}
