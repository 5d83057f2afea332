import type { CallOptions, Shard } from '@looseleaf/core'
import { untilAborted, platformTime } from '@looseleaf/core/internal'
import { presentEntries, type EngineContext } from '@looseleaf/index-engine/internal'
import { AHEAD, checkReplica, LATE, reasonOf } from '../freshness/check-replica.ts'

/** The state of a replica, for operators. */
export interface ReplicaReport {
  readonly name: string
  /** The name of its primary. */
  readonly primary: string
  /**
   * Milliseconds by which its floor is behind the floor of its primary. Cleaners, consumers and reads from replicas raise floors; without
   * any of these it is 0. Undefined if a floor could not be read.
   */
  readonly behindMs: number | undefined
  /** Reason why it cannot be read, for people; undefined if it can. */
  readonly exclusionReason: string | undefined
}

/** Milliseconds after which a server is reported as one that does not answer. */
const LATE_MS = 5_000

/** Reads the state of every replica, and writes nothing. If a primary does not answer, `behindMs` of its replicas is undefined. */
export async function readReplicas(
  context: EngineContext,
  options: CallOptions = {},
): Promise<readonly ReplicaReport[]> {
  const each = presentEntries(context.driver).map(async ([number, primary]) => {
    const { replicas = [] } = primary
    if (replicas.length === 0) return []
    const answers = await Promise.all(
      replicas.map((replica) =>
        floorOf(replica, () => checkReplica(replica, context, number, options), options),
      ),
    )
    // Read after the floors of the replicas, so that a healthy replica is never ahead.
    const primaryFloor = await floorOf(primary, undefined, options)
    return replicas.map(({ name }, place): ReplicaReport => {
      const answer = answers[place]!
      const names = { name, primary: primary.name }
      if (typeof answer === 'string') return { ...names, behindMs: undefined, exclusionReason: answer }
      if (typeof primaryFloor === 'string')
        return { ...names, behindMs: undefined, exclusionReason: undefined }
      if (answer > primaryFloor) return { ...names, behindMs: undefined, exclusionReason: AHEAD }
      return { ...names, behindMs: (primaryFloor - answer) / 1_000, exclusionReason: undefined }
    })
  })
  return (await Promise.all(each)).flat()
}

/** Returns the floor in microseconds, or the reason of the failure. */
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
