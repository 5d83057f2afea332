import { badOption, getOrInsert } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'

/** The names of the consumers that run on each store of this process. */
const running = new WeakMap<EngineContext, Set<string>>()

/**
 * Reserves the name of a consumer until the signal fires. Throws `BAD_OPTION` while another consumer of the name runs on the same store of
 * this process: the two would share the changes, so each handler would miss some.
 */
export function reserveName(context: EngineContext, name: string, ended: AbortSignal): void {
  const names = getOrInsert(running, context, () => new Set())
  if (names.has(name)) {
    throw badOption(
      `A consumer ${name} already runs on this store in this process, and a second one would take a part of its changes. Give the second handler a name of its own; for more handlers in flight set \`concurrency\`; to replace the handler call \`stop\` of the running consumer first.`,
    )
  }
  names.add(name)
  ended.addEventListener('abort', () => names.delete(name), { once: true })
}
