import { sides } from '../sides/all-sides.ts'
import type { Measured } from './results.ts'

/** Returns the title of a side, or the name of a loader. */
export function titleOf(side: Measured): string {
  return sides.find(({ name }) => name === side)?.title ?? side
}
