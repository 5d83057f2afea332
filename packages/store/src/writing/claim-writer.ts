import { isLooseleafError } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import { duplicateKey, takeKey, type TakeKey } from '@looseleaf/protocol'
import type { ShardLanes } from '../calls/shard-lanes.ts'
import { beforeCommit, type PlacedKey } from './index-row-writer.ts'

export interface ClaimWriter {
  /**
   * When it resolves, the entity holds these keys of unique indexes, so that a commit of this version has them to itself. Throws
   * `DUPLICATE_KEY`, and whatever keeps it from knowing; the keys that it holds by then are left to the cleaner, or to
   * who wants them next.
   */
  take(
    keys: readonly PlacedKey[],
    entityId: Uint8Array,
    version: number,
    signal: AbortSignal | undefined,
  ): Promise<void>
}

export function createClaimWriter(context: EngineContext, lanes: readonly ShardLanes[]): ClaimWriter {
  const take: TakeKey = (shard, spec, row, signal) =>
    (lanes[shard] as ShardLanes).claims(spec).submit(row, signal)

  async function takeOne(
    { entry, key }: PlacedKey,
    entityId: Uint8Array,
    version: number,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const holder = await takeKey(context, take, { entry, key, entityId, version }, signal)
    if (holder !== undefined) throw duplicateKey(entry, entityId, holder)
  }

  /** A claim is taken nowhere and by nobody once its index is dropped; a process with an older catalog meets that here. */
  async function isDropped({ entry }: PlacedKey): Promise<boolean> {
    const { indexes } = await context.catalog.reload()
    const state = indexes.find(({ table }) => table === entry.table)?.state
    return state === undefined || state === 'retiring'
  }

  return {
    async take(keys, entityId, version, signal) {
      // The first that cannot be had ends the work for the others: it would end attempts of others for nothing.
      const ended = new AbortController()
      let failure: { readonly error: unknown } | undefined
      const both = signal === undefined ? ended.signal : AbortSignal.any([signal, ended.signal])
      await Promise.all(
        keys.map(async (key) => {
          try {
            await takeOne(key, entityId, version, both)
          } catch (error) {
            if (isLooseleafError(error, 'INDEX_NOT_FOUND') && (await isDropped(key))) return
            failure ??= { error }
            ended.abort()
          }
        }),
      )
      if (failure !== undefined) throw beforeCommit(failure.error)
    },
  }
}
