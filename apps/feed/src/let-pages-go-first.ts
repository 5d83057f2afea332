import { constants, setPriority } from 'node:os'

/** Lowers the priority of this process, so that work in the background takes no processor time from a site on the same machine. */
export function letPagesGoFirst(): void {
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
}
