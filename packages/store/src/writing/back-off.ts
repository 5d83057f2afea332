import type { Randomness } from '@looseleaf/core'
import { backOffMs } from '@looseleaf/core/internal'

/** Attempts before a write gives up. Nearly every failed attempt has lost a race to another write of the entity. */
export const MAX_TRIES = 64

/**
 * Returns the pause in milliseconds after this attempt, counted from 0; none after the first two. With many writers of one entity,
 * random pauses let one of them get through.
 */
export function pauseAfter(attempt: number, random: Randomness): number {
  return backOffMs(attempt - 1, { firstMs: 4, maxMs: 100, random })
}
