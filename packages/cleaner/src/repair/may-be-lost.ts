import type { EntityRow } from '@looseleaf/core'
import { deleteDelayMs } from '@looseleaf/protocol'
import type { Pass } from '../pass/pass.ts'

/**
 * Whether a failover can still undo the commit of what was read: then it is no ground to take away what the one before
 * it needs. `readAt` is the time before the reading, in milliseconds, and no later one: a process that was held up since
 * would find the commit old enough, although it may have been lost meanwhile.
 */
export function mayBeLost(pass: Pass, { updated }: Pick<EntityRow, 'updated'>, readAt: number): boolean {
  const delayMs = deleteDelayMs(pass.context)
  return delayMs > 0 && readAt - updated / 1000 < delayMs
}
