import { LooseleafError, type CallOptions } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { shardAt } from './shards.ts'
import { editTask, untilFree } from './task-leases.ts'

const PATIENCE_MS = 10_000
const PAUSE_MS = 100

/** Replaces the text of a task atomically. Throws `SHARD_BUSY` if other processes hold the task for ten seconds. */
export async function editWhenFree(
  context: EngineContext,
  shard: number,
  task: string,
  edit: (text: string) => string,
  { signal }: CallOptions,
): Promise<void> {
  const { tasks } = shardAt(context, shard)
  const owner = context.random.uuid()
  await whenFree(context, shard, task, () => editTask(tasks, task, edit, { owner, signal }), { signal })
}

/** Repeats an attempt while it resolves to false, because other processes hold the task. Throws like `editWhenFree`. */
export async function whenFree(
  context: EngineContext,
  shard: number,
  task: string,
  attempt: () => Promise<boolean>,
  { signal }: CallOptions,
): Promise<void> {
  const { name } = shardAt(context, shard)
  const busy = (): LooseleafError =>
    new LooseleafError(
      'SHARD_BUSY',
      `Other processes have held the task ${task} for ${PATIENCE_MS / 1_000} seconds; try again later.`,
      { shard: name },
    )
  await untilFree(attempt, {
    time: context.time,
    everyMs: PAUSE_MS,
    forMs: PATIENCE_MS,
    busy,
    signal,
  })
}
