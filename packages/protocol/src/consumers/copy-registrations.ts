import type { CallOptions } from '@looseleaf/core'
import { presentNumbers, type EngineContext } from '@looseleaf/index-engine/internal'
import { editWhenFree, whenFree } from '../edit-when-free.ts'
import { shardAt } from '../shards.ts'
import { underLease } from '../task-leases.ts'
import { joinedRegistry, REGISTRY_TASK, registryFromText, registryToText } from './registrations.ts'

/** Far longer than the edits on the other shards, which wait ten seconds each. */
const LEASE_MS = 60_000

/**
 * Copies the consumers that a shard knows to all other shards, durably. A shard that joined after a consumer has no copy, so the store would
 * forget the consumer when the last shard that has one is removed. Throws `SHARD_BUSY` if other processes edit the consumers of a shard for ten seconds.
 *
 * The lease on the consumers of the shard lasts until the copies stand. A drop deletes a name on each shard, and then looks at all of them
 * again. So either it was here before the lease, and there is nothing to copy, or it finds the copies.
 *
 * A process that was suspended for longer than its lease may copy the registration of a consumer that was dropped meanwhile. The next try takes
 * that copy back.
 */
export async function copyRegistrations(
  context: EngineContext,
  from: number,
  options: CallOptions,
): Promise<void> {
  const { tasks } = shardAt(context, from)
  const others = presentNumbers(context.driver).filter((number) => number !== from)
  /** Incarnations that earlier tries have copied to a shard without them. */
  const copied = new Set<string>()
  for (let isHeld = false; !isHeld;) {
    const held = { tasks, task: REGISTRY_TASK, owner: context.random.uuid() }
    let progress = ''
    const claim = async (): Promise<boolean> => {
      const state = await tasks.claim(REGISTRY_TASK, held.owner, LEASE_MS, options)
      if (state !== undefined) progress = state.progress
      return state !== undefined
    }
    await whenFree(context, from, REGISTRY_TASK, claim, options)
    const registry = registryFromText(progress)
    const stays = new Set(Array.from(registry.values(), ({ incarnation }) => incarnation))
    const dropped = new Set([...copied].filter((incarnation) => !stays.has(incarnation)))
    const copy = async (number: number): Promise<void> => {
      const edit = (text: string): string => {
        const known = registryFromText(text)
        for (const [name, { incarnation }] of registry)
          if (known.get(name)?.incarnation !== incarnation) copied.add(incarnation)
        const kept = [...known].filter(([, { incarnation }]) => !dropped.has(incarnation))
        return registryToText(joinedRegistry([new Map(kept), registry]))
      }
      await editWhenFree(context, number, REGISTRY_TASK, edit, options)
      await shardAt(context, number).flush(options)
    }
    isHeld = await underLease(
      held,
      async () => {
        if (registry.size + dropped.size > 0) await Promise.all(others.map(copy))
        // Without an answer the lease may have ended before the copies. The next claim rejects if the shard answers nothing.
        return tasks.save(REGISTRY_TASK, held.owner, progress, LEASE_MS, options).catch(() => false)
      },
      () => progress,
    )
  }
}
