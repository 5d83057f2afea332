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
 */
export async function copyRegistrations(
  context: EngineContext,
  from: number,
  options: CallOptions,
): Promise<void> {
  const { tasks } = shardAt(context, from)
  const held = { tasks, task: REGISTRY_TASK, owner: context.random.uuid() }
  let progress = ''
  const claim = async (): Promise<boolean> => {
    const state = await tasks.claim(REGISTRY_TASK, held.owner, LEASE_MS, options)
    if (state !== undefined) progress = state.progress
    return state !== undefined
  }
  await whenFree(context, from, REGISTRY_TASK, claim, options)
  const registry = registryFromText(progress)
  const add = (text: string): string => registryToText(joinedRegistry([registryFromText(text), registry]))
  const others = presentNumbers(context.driver).filter((number) => number !== from)
  const copy = async (number: number): Promise<void> => {
    await editWhenFree(context, number, REGISTRY_TASK, add, options)
    await shardAt(context, number).flush(options)
  }
  await underLease(
    held,
    async () => registry.size > 0 && Promise.all(others.map(copy)),
    () => progress,
  )
}
