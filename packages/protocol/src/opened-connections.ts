import type { Shard } from '@looseleaf/core'

/**
 * Returns the number of connections to a shard opened so far; undefined if its driver does not count them. If it has not changed, all
 * answers came from the same server without a restart.
 */
export const openedTo = (shard: Shard): number | undefined => shard.connections?.()?.opened
