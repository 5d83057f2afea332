import {
  backgroundTime,
  elapsedBy,
  isLooseleafError,
  systemTime,
  untilAborted,
  type FloorState,
  type Shard,
} from '@looseleaf/core'
import { loadShardCatalog, type EngineContext } from '@looseleaf/index-engine'
import { createReplicaMarks } from './replica-marks.ts'

/** What a replica is known to have. Moments are of `elapsedBy`. */
export interface ReplicaState {
  /** It knows everything that was acknowledged before; undefined where that cannot be told. */
  readonly asOf: number | undefined
  /** The epoch of its catalog. */
  readonly epoch: number
  /**
   * Its connections had been opened so many times. What comes by a later one may be of a server that has lost what it had, or of another
   * one.
   */
  readonly opened: number
  /** Why nothing is read from it, in words; undefined where it may be read by those for whom it is fresh enough. */
  readonly leftOut: string | undefined
}

/** Knows how far the replicas of a shard are. */
export interface ReplicaFollower {
  /** What is known of each replica. To be asked by reads: a shard is followed only while it is asked, as often as their bound needs. */
  ask(maxStalenessMs: number): readonly ReplicaState[]
  /** What is known, without a reason to go on following. */
  states(): readonly ReplicaState[]
  /** This replica has failed: nothing is read from it before it was seen well again. */
  failed(replica: number, reason: string): void
  close(): Promise<void>
}

/** Looks within the bound of those who read, so that one or two may be late. */
const LOOKS = 4
/** Milliseconds between two looks. */
const MIN_PAUSE_MS = 50
const MAX_PAUSE_MS = 1_000
/** A shard is followed for so long after it was asked for. */
const FOLLOW_MS = 10_000

const UNKNOWN: ReplicaState = {
  asOf: undefined,
  epoch: 0,
  opened: 0,
  leftOut: 'How far it is is not known yet.',
}

type Replayed = Pick<FloorState, 'floor' | 'epoch'> & Pick<ReplicaState, 'opened'>

/** How often connections to a shard have been opened. */
export const openedTo = (shard: Shard): number => shard.connections?.()?.opened ?? 0

/**
 * Follows the replicas of a shard by its floor: reads what they have replayed, and then, from the primary, the floor; raises it where
 * nobody else has done so for the time of a look.
 */
export function createReplicaFollower(
  context: EngineContext,
  shard: Shard,
  number: number,
  onWarning: (message: string) => void,
): ReplicaFollower {
  const now = elapsedBy(context.time)
  // Nothing is lost when the process ends meanwhile.
  const quietTime = context.time === systemTime ? backgroundTime : context.time
  const closing = new AbortController()
  const { signal } = closing
  const replicas = (shard.replicas ?? []).map((replica) => ({
    replica,
    state: UNKNOWN,
    /** Whether it has shown that it is of this store since it has failed last. */
    isChecked: false,
    isWarned: false,
    /** Counted up by each failure, so that a look that began before it changes nothing. */
    failures: 0,
    /** The floor that it had when it was ahead of its primary: until that is passed, its floors are those of another history. */
    above: -Infinity,
    look: undefined as Promise<void> | undefined,
  }))
  type Followed = (typeof replicas)[number]
  const marks = createReplicaMarks()
  let lookAtPrimary: Promise<void> | undefined
  let primary: FloorState | undefined
  let bound = Infinity
  let boundAt = -Infinity
  let askedAt = -Infinity
  let running: Promise<void> | undefined

  /** Throws what is wrong with the replica. */
  async function check(one: Followed): Promise<void> {
    const catalog = await loadShardCatalog(one.replica, { signal })
    if (catalog?.storeId !== context.catalog.current().storeId || catalog.shardNumber !== number)
      throw new Error('It is no replica of this shard.')
    one.isChecked = true
    if (one.isWarned) return
    one.isWarned = true
    for (const warning of await one.replica.warnings({ signal })) onWarning(`${one.replica.name}: ${warning}`)
  }

  function leaveOut(one: Followed, leftOut: string): void {
    one.state = { ...one.state, asOf: undefined, leftOut }
    one.isChecked = false
    one.failures++
  }

  /** Its floor as it is now, for `judge`. */
  async function askReplica(one: Followed): Promise<Replayed | undefined> {
    const { failures } = one
    try {
      if (!one.isChecked) await check(one)
      const opened = openedTo(one.replica)
      const { floor, epoch } = await one.replica.entities.floor({ signal })
      return one.failures === failures ? { floor, epoch, opened } : undefined
    } catch (error) {
      if (!signal.aborted) leaveOut(one, reasonOf(error))
      return undefined
    }
  }

  async function askPrimary(pauseMs: number): Promise<void> {
    try {
      const sentAt = now()
      primary = undefined
      const found = await shard.entities.floor({ signal })
      marks.seen(found.floor, sentAt)
      primary = found
      // One that is ahead of the clock says nothing of its age.
      if (found.now >= found.floor && found.now - found.floor < pauseMs * 1_000) return
      const at = now()
      marks.raised(await shard.entities.raiseFloor({ signal }), at)
    } catch {
      // It cannot be asked, or not be raised by this process: replicas grow older, until somebody else raises it.
    }
  }

  /** `replayed` was read before `current`. */
  function judge(one: Followed, { floor, ...seen }: Replayed, current: FloorState | undefined): void {
    if (current !== undefined && floor > current.floor) {
      one.above = floor
      one.state = {
        asOf: undefined,
        ...seen,
        leftOut: 'It is ahead of its primary, as after a failover that has lost writes.',
      }
      return
    }
    const asOf = marks.asOf(floor, one.above)
    one.state = { ...seen, asOf, leftOut: asOf === undefined ? UNKNOWN.leftOut : undefined }
  }

  /** Resolves when this has, or when the time of a look is over. */
  const briefly = (work: Promise<unknown>, pauseMs: number): Promise<unknown> =>
    Promise.race([work, untilAborted(quietTime.sleep(pauseMs, signal), signal).catch(() => undefined)])

  async function look(pauseMs: number): Promise<void> {
    const found: { readonly one: Followed; readonly replayed: Replayed }[] = []
    await briefly(
      Promise.all(
        replicas.map((one) => {
          // One that hangs is not asked twice, and says nothing by an answer that comes late.
          if (one.look !== undefined) return leaveOut(one, 'It does not answer in time.')
          one.look = askReplica(one)
            .then((replayed) => void (replayed && found.push({ one, replayed })))
            .finally(() => (one.look = undefined))
          return one.look
        }),
      ),
      pauseMs,
    )
    const seen = found.splice(0)
    // An answer to a look that was under way already may be from before the replicas were asked.
    const isLater = lookAtPrimary === undefined
    lookAtPrimary ??= askPrimary(pauseMs).finally(() => (lookAtPrimary = undefined))
    await briefly(lookAtPrimary, pauseMs)
    for (const { one, replayed } of seen) judge(one, replayed, isLater ? primary : undefined)
  }

  async function follow(): Promise<void> {
    while (!signal.aborted && now() - askedAt <= FOLLOW_MS) {
      const pauseMs = Math.min(Math.max(bound / LOOKS, MIN_PAUSE_MS), MAX_PAUSE_MS)
      await look(pauseMs)
      await untilAborted(quietTime.sleep(pauseMs, signal), signal).catch(() => undefined)
    }
    for (const one of replicas) one.state = UNKNOWN
    running = undefined
  }

  return {
    ask(maxStalenessMs) {
      askedAt = now()
      if (maxStalenessMs <= bound || askedAt - boundAt > FOLLOW_MS) {
        bound = maxStalenessMs
        boundAt = askedAt
      }
      if (!signal.aborted) running ??= context.events.detached(follow)
      return replicas.map(({ state }) => state)
    },
    states: () => replicas.map(({ state }) => state),
    failed: (replica, reason) => leaveOut(replicas[replica]!, reason),
    async close() {
      closing.abort()
      await running
    },
  }
}

function reasonOf(error: unknown): string {
  if (isLooseleafError(error) || error instanceof Error) return error.message
  return 'It has failed.'
}
