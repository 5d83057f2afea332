import {
  isLooseleafError,
  LooseleafError,
  platformTime,
  untilAborted,
  type CallOptions,
  type Shard,
  type TaskTable,
} from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import { NOTES_TASK } from './failure-note.ts'
import { growthOf, sizesFromText, sizesToText, type NotedSize } from './noted-sizes.ts'

/** How a shard takes a small write, and how large it is. */
export interface ShardProbe {
  readonly name: string
  /** Error of the write; undefined where the shard has taken it. */
  readonly error: LooseleafError | undefined
  /** Bytes of all tables, by the statistics of the database; undefined where it does not say. */
  readonly bytes: number | undefined
  /** Growth in bytes a day since the oldest note of a size, from an hour to two days ago; undefined before there is one. */
  readonly bytesPerDay: number | undefined
}

const PROBE_TASK = 'probe'
const LEASE_MS = 5_000
/** A shard that has not answered for so long is told as one that hangs. */
const LATE_MS = 5_000

/**
 * Changes one small row on each shard, as any write does, and notes in it once an hour how large the shard is. It needs the rights of a process
 * that writes. A write that fits into the space a table has may pass while its disk is full; failing calls tell of that.
 */
export async function probeShards(
  context: EngineContext,
  options: CallOptions = {},
): Promise<readonly ShardProbe[]> {
  return Promise.all(context.driver.shards.map((shard) => probeShard(context, shard, options)))
}

async function probeShard(
  context: EngineContext,
  shard: Shard,
  { signal }: CallOptions,
): Promise<ShardProbe> {
  const late = platformTime.abortAfter(LATE_MS)
  const ends = signal === undefined ? late : AbortSignal.any([signal, late])
  const { name, tasks } = shard
  const errorOf = (error: unknown): LooseleafError => {
    if (signal?.aborted || !isLooseleafError(error)) throw error
    return late.aborted
      ? new LooseleafError('DEADLINE', `${name}: no answer within ${LATE_MS / 1_000} seconds.`, {
          shard: name,
        })
      : error
  }
  const sizes = await untilAborted(shard.sizes?.({ signal: ends }) ?? Promise.resolve(undefined), ends).catch(
    errorOf,
  )
  const bytes = isLooseleafError(sizes) ? undefined : sizes?.bytes
  const now = context.time.now()
  const own = bytes === undefined ? undefined : { at: now, bytes }
  const before = await untilAborted(write(context, tasks, own, ends), ends).catch(errorOf)
  if (isLooseleafError(before)) return { name, error: before, bytes, bytesPerDay: undefined }
  return { name, error: undefined, bytes, bytesPerDay: own && growthOf(before, own) }
}

/** Answers the sizes that were noted before. */
async function write(
  context: EngineContext,
  tasks: TaskTable,
  size: NotedSize | undefined,
  signal: AbortSignal,
): Promise<readonly NotedSize[]> {
  const owner = context.random.uuid()
  // The row for notes is made with it, since a full disk takes changes of a row more often than new rows.
  const states = await tasks.claimAll([PROBE_TASK, NOTES_TASK], owner, LEASE_MS, { signal })
  const sizes = sizesFromText(states.get(PROBE_TASK)?.progress ?? '')
  const progress = new Map(
    // A row that is missing here is written by another process at this moment.
    [...states].map(([task, { progress: text }]) => [
      task,
      task === PROBE_TASK ? sizesToText(sizes, size) : text,
    ]),
  )
  if (progress.size > 0) await tasks.saveAll(progress, owner, 0, { signal })
  return sizes
}
