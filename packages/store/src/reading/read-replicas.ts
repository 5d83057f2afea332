import { untilAborted, type CallOptions, type Shard, platformTime } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import { AHEAD, checkReplica, LATE, reasonOf } from './check-replica.ts'

/** How a replica is, for whoever runs the servers. */
export interface ReplicaReport {
  readonly name: string
  /** The name of its primary. */
  readonly primary: string
  /**
   * It lacks writes of so many milliseconds, as far as floors tell, which cleaners, consumers and reads from replicas raise: 0 where nobody
   * does. Undefined where it cannot be told.
   */
  readonly behindMs: number | undefined
  /** Why nothing can be read from it, in words; undefined where it may be read. */
  readonly leftOut: string | undefined
}

/** A replica that has not answered for so long is told as one that hangs. */
const LATE_MS = 5_000

/** Asks every replica, and writes nothing. A primary that does not answer leaves `behindMs` of its replicas undefined. */
export async function readReplicas(
  context: EngineContext,
  options: CallOptions = {},
): Promise<readonly ReplicaReport[]> {
  const each = context.driver.shards.map(async (primary, number) => {
    const { replicas = [] } = primary
    if (replicas.length === 0) return []
    const answers = await Promise.all(
      replicas.map((replica) =>
        floorOf(replica, () => checkReplica(replica, context, number, options), options),
      ),
    )
    // After those of the replicas, which are never ahead of it then.
    const own = await floorOf(primary, undefined, options)
    return replicas.map(({ name }, place): ReplicaReport => {
      const answer = answers[place]!
      const told = { name, primary: primary.name }
      if (typeof answer === 'string') return { ...told, behindMs: undefined, leftOut: answer }
      if (typeof own === 'string') return { ...told, behindMs: undefined, leftOut: undefined }
      if (answer > own) return { ...told, behindMs: undefined, leftOut: AHEAD }
      return { ...told, behindMs: (own - answer) / 1_000, leftOut: undefined }
    })
  })
  return (await Promise.all(each)).flat()
}

/** In microseconds, or what it has failed with. */
async function floorOf(
  { entities }: Shard,
  check: (() => Promise<void>) | undefined,
  { signal }: CallOptions,
): Promise<number | string> {
  const late = platformTime.abortAfter(LATE_MS)
  const ends = signal === undefined ? late : AbortSignal.any([signal, late])
  try {
    await untilAborted(check?.() ?? Promise.resolve(), ends)
    return (await untilAborted(entities.floor({ signal: ends }), ends)).floor
  } catch (error) {
    if (signal?.aborted) throw error
    return late.aborted ? LATE : reasonOf(error)
  }
}
