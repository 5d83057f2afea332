import { LooseleafError, type CallOptions } from '@looseleaf/core'
import { presentNumbers, type EngineContext } from '@looseleaf/index-engine/internal'
import { editWhenFree } from '../edit-when-free.ts'
import { shardAt } from '../shards.ts'
import { underLease } from '../task-leases.ts'
import { joinedRegistry, REGISTRY_TASK, registryFromText, registryToText } from './registrations.ts'

/** Far longer than the edits on the other shards, which wait ten seconds each. */
const LEASE_MS = 60_000

/**
 * Copies the consumers that a shard knows to all other shards, durably. A shard that joined after a consumer has no copy, so the store would
 * forget the consumer when the last shard that has one is removed. Throws `SHARD_BUSY` while another process edits the consumers of the shard.
 *
 * The lease on the consumers of the shard lasts until the copies stand. A drop deletes a name on each shard, and then looks at all of them
 * again. So either it was here before the lease, and there is nothing to copy, or it finds the copies.
 */
export async function copyRegistrations(
  context: EngineContext,
  from: number,
  options: CallOptions,
): Promise<void> {
  const { name, tasks } = shardAt(context, from)
  const held = { tasks, task: REGISTRY_TASK, owner: context.random.uuid() }
  const state = await tasks.claim(REGISTRY_TASK, held.owner, LEASE_MS, options)
  if (state === undefined)
    throw new LooseleafError(
      'SHARD_BUSY',
      `Another process is changing the consumers of the store on shard ${name}; try again later.`,
      { shard: name },
    )
  const registry = registryFromText(state.progress)
  const add = (text: string): string => registryToText(joinedRegistry([registryFromText(text), registry]))
  const others = presentNumbers(context.driver).filter((number) => number !== from)
  const copy = async (number: number): Promise<void> => {
    await editWhenFree(context, number, REGISTRY_TASK, add, options)
    await shardAt(context, number).flush(options)
  }
  await underLease(
    held,
    async () => registry.size > 0 && Promise.all(others.map(copy)),
    () => state.progress,
  )
}
