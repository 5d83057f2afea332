import { sides } from '../sides/all-sides.ts'
import type { Measured } from './results.ts'

/** What a side is called. */
export function titleOf(side: Measured): string {
  return sides.find(({ name }) => name === side)?.title ?? side
}
