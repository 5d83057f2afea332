import { msgpackZlibCodec } from '@looseleaf/codec'
import { createVersionClock, LooseleafError, systemTime } from '@looseleaf/core'
import { createCatalogHolder, type EngineContext } from '@looseleaf/index-engine'
import { bucketRouter } from '@looseleaf/router'
import { addIndexes, replaceLostIndexes } from '../catalog/manage-indexes.ts'
import { openStore, tellAllWarnings } from './open-store.ts'
import { agreeOnPolicies } from '../catalog/policies.ts'
import type { DataStoreOptions } from '../types.ts'

/** Connects, opens the store that is there, and brings about what the options ask for. Closes the connections when that fails. */
export async function openContext(
  options: DataStoreOptions,
  onWarning: (message: string) => void,
): Promise<EngineContext> {
  const { shards, indexes = [], migrate = false, acceptEmptyShards = false, time = systemTime } = options
  const { queryTimeMs, deleteDelayMs, onIndexFailure } = options
  const router = options.router ?? bucketRouter({ shards: shards.shardCount })
  if (router.shardCount !== shards.shardCount) {
    throw new LooseleafError(
      'BAD_OPTION',
      `The router routes to ${router.shardCount} shards, but ${shards.shardCount} shards were given.`,
    )
  }
  const policies = { deleteDelayMs, onIndexFailure }
  const connected = await shards.connect()
  try {
    const opened = await openStore(connected, {
      router,
      migrate,
      acceptEmptyShards,
      indexes,
      policies,
      queryTimeMs,
      onWarning,
    })
    const { driver, catalog, silent } = opened
    const context: EngineContext = {
      driver,
      router,
      codec: options.codec ?? msgpackZlibCodec(),
      time,
      clock: createVersionClock(time),
      catalog: createCatalogHolder(driver, catalog),
    }
    await agreeOnPolicies(context, policies, onWarning)
    if (migrate && silent.size === 0) {
      await replaceLostIndexes(context)
      await addIndexes(context, indexes)
    }
    await tellAllWarnings(opened, onWarning)
    return context
  } catch (error) {
    await connected.close()
    throw error
  }
}
