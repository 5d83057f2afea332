import { isLooseleafError, LooseleafError, type CallOptions, type Shard } from '@looseleaf/core'
import { platformTime, untilAborted, type TaskTable } from '@looseleaf/core/internal'
import { presentShards, type EngineContext } from '@looseleaf/index-engine/internal'
import { editTasks } from '@looseleaf/protocol/internal'
import { NOTES_TASK } from './failure-note.ts'
import { growthOf, sizesFromText, sizesToText, type NotedSize } from './noted-sizes.ts'

/** The outcome of a small write on a shard, and the shard's size. */
export interface ShardProbe {
  readonly name: string
  /** Error of the write; undefined if it succeeded. */
  readonly error: LooseleafError | undefined
  /** Bytes of all tables by the statistics of the database; undefined if it has none. */
  readonly bytes: number | undefined
  /** Growth in bytes per day since the oldest noted size, from an hour to two days ago; undefined if there is none. */
  readonly bytesPerDay: number | undefined
}

const PROBE_TASK = 'probe'
/** Milliseconds after which a shard counts as not answering. */
const LATE_MS = 5_000

/**
 * Changes one small row on each shard, and notes the size of the shard in it once an hour. Needs the rights of a process that writes. May
 * succeed while the disk is full, if the write fits into the space of its table; failing calls then show the full disk.
 */
export async function probeShards(
  context: EngineContext,
  options: CallOptions = {},
): Promise<readonly ShardProbe[]> {
  return Promise.all(presentShards(context.driver).map((shard) => probeShard(context, shard, options)))
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
  const size = bytes === undefined ? undefined : { at: now, bytes }
  const before = await untilAborted(write(context, tasks, size, ends), ends).catch(errorOf)
  if (isLooseleafError(before)) return { name, error: before, bytes, bytesPerDay: undefined }
  return { name, error: undefined, bytes, bytesPerDay: size && growthOf(before, size) }
}

async function write(
  context: EngineContext,
  tasks: TaskTable,
  size: NotedSize | undefined,
  signal: AbortSignal,
): Promise<readonly NotedSize[]> {
  const owner = context.random.uuid()
  let sizes: readonly NotedSize[] = []
  // Makes the row for the notes of failures too, since a full disk takes changes of a row more often than new rows.
  await editTasks(
    tasks,
    [PROBE_TASK, NOTES_TASK],
    (text, task) => {
      if (task !== PROBE_TASK) return text
      sizes = sizesFromText(text)
      return sizesToText(sizes, size)
    },
    { owner, signal },
  )
  return sizes
}
