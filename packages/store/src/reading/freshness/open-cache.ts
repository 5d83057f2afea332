import type { SharedCacheFactory } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { createEntityCache, type CacheOptions, type EntityCache } from './entity-cache.ts'
import { createSharedEntityCache } from './shared-entity-cache.ts'

/** Opens the cache of this process, or one that processes share. */
export function openCache(
  cache: CacheOptions | SharedCacheFactory,
  context: EngineContext,
  onWarning: (message: string) => void,
): EntityCache {
  return 'connect' in cache
    ? createSharedEntityCache(cache.connect(), cache.maxStalenessMs, context, onWarning)
    : createEntityCache(cache, context)
}
