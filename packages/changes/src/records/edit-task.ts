import { LooseleafError, type CallOptions } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { shardAt } from '@looseleaf/protocol/internal'

const LEASE_MS = 5_000
const TRIES = 100
const PAUSE_MS = 100

/** Replaces the text of a task atomically, under a lease. Throws `SHARD_BUSY` if other processes hold the task for ten seconds. */
export async function editTask(
  context: EngineContext,
  shard: number,
  task: string,
  edit: (text: string) => string,
  { signal }: CallOptions,
): Promise<void> {
  const { name, tasks } = shardAt(context, shard)
  const owner = context.random.uuid()
  for (let tries = 0; tries < TRIES; tries++) {
    const state = await tasks.claim(task, owner, LEASE_MS, { signal })
    if (state !== undefined) {
      const isSaved = await tasks.save(task, owner, edit(state.progress), 0, { signal })
      if (isSaved) return
    }
    await context.time.sleep(PAUSE_MS, signal)
  }
  throw new LooseleafError(
    'SHARD_BUSY',
    `Other processes have held the task ${task} for ${(TRIES * PAUSE_MS) / 1_000} seconds; try again later.`,
    { shard: name },
  )
}
