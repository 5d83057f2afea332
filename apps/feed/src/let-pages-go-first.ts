import { constants, getPriority, setPriority } from 'node:os'

/**
 * Lowers the priority of this process, so that pages of a site on the same machine come before its work in the background. The few threads
 * that V8 has by then, which collect garbage, keep their priority on Linux. A process with a lower priority keeps it.
 */
export function letPagesGoFirst(): void {
  const lower = constants.priority.PRIORITY_BELOW_NORMAL
  // Only a privileged process may raise its priority again.
  if (getPriority() < lower) setPriority(lower)
}
