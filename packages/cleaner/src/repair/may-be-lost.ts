import type { EntityRow } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import type { Pass } from '../pass/pass.ts'

/** How long a commit may be lost by a failover, in milliseconds, by the catalog at hand. */
export function deleteDelayMs({ catalog }: EngineContext): number {
  return catalog.current().policies.deleteDelayMs
}

/**
 * Whether a failover can still undo the commit of what was read: then it is no ground to take away what the one before
 * it needs. `readAt` is the time before the reading, in milliseconds, and no later one: a process that was held up since
 * would find the commit old enough, although it may have been lost meanwhile.
 */
export function mayBeLost(pass: Pass, { updated }: Pick<EntityRow, 'updated'>, readAt: number): boolean {
  const delayMs = deleteDelayMs(pass.context)
  return delayMs > 0 && readAt - updated / 1000 < delayMs
}
