import type { Shard } from '@looseleaf/core'

/**
 * Connections to a shard that have been opened so far; undefined for a driver that does not say. While it stays the same, every answer has
 * come from one server that was not started anew.
 */
export const openedTo = (shard: Shard): number | undefined => shard.connections?.()?.opened
