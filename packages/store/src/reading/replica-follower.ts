import { inBackground, elapsedBy, untilAborted, type FloorState, type Shard } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import { isFloorOld, openedTo } from '@looseleaf/protocol'
import { AHEAD, checkReplica, LATE, reasonOf } from './check-replica.ts'
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
  readonly opened: number | undefined
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
/** A bound that no replica can be known to keep is nobody's reason to look more often. */
const LEAST_BOUND_MS = LOOKS * MIN_PAUSE_MS
/** A replica that has not answered for so long is left out. */
const LATE_MS = 1_000
/** A shard is followed for so long after it was asked for. */
const FOLLOW_MS = 10_000

const UNKNOWN: ReplicaState = {
  asOf: undefined,
  epoch: 0,
  opened: undefined,
  leftOut: 'How far it is is not known yet.',
}

type Replayed = Pick<FloorState, 'floor' | 'epoch'> & Pick<ReplicaState, 'opened'>

interface Followed {
  readonly replica: Shard
  state: ReplicaState
  /** Whether it has shown that it is of this store since it has failed last. */
  isChecked: boolean
  isWarned: boolean
  /** Counted up by each failure, so that a look that began before it changes nothing. */
  failures: number
  /** The floor that it had when it was ahead of its primary: until that is passed, its floors are those of another history. */
  above: number
  /** When it was asked what it has not answered yet. */
  askedAt: number | undefined
  loop: Promise<void> | undefined
}

/**
 * Follows the replicas of a shard by its floor: reads what they have replayed, each in its own time, and then, from the primary, the
 * floor, which is raised where nobody else has done so for the time of a look.
 */
export function createReplicaFollower(
  context: EngineContext,
  shard: Shard,
  number: number,
  onWarning: (message: string) => void,
): ReplicaFollower {
  const now = elapsedBy(context.time)
  // Nothing is lost when the process ends meanwhile.
  const quietTime = inBackground(context.time)
  const closing = new AbortController()
  const { signal } = closing
  const replicas = (shard.replicas ?? []).map((replica): Followed => {
    const none = { askedAt: undefined, loop: undefined }
    return {
      ...none,
      replica,
      state: UNKNOWN,
      isChecked: false,
      isWarned: false,
      failures: 0,
      above: -Infinity,
    }
  })
  const marks = createReplicaMarks()
  let primaryLoop: Promise<void> | undefined
  /** Told the floor of the primary as it is read next, or undefined where that fails. */
  let listeners: ((current: FloorState | undefined) => void)[] = []
  let bound = Infinity
  let boundAt = -Infinity
  let wantedAt = -Infinity

  const isWanted = (): boolean => !signal.aborted && now() - wantedAt <= FOLLOW_MS
  const pauseMs = (): number => Math.min(Math.max(bound / LOOKS, MIN_PAUSE_MS), MAX_PAUSE_MS)
  const pause = (ms: number): Promise<void> =>
    untilAborted(quietTime.sleep(ms, signal), signal).catch(() => undefined)

  /** Throws what is wrong with the replica. */
  async function check(one: Followed): Promise<void> {
    await checkReplica(one.replica, context, number, { signal })
    if (!one.isWarned) {
      for (const warning of await one.replica.warnings({ signal }))
        onWarning(`${one.replica.name}: ${warning}`)
      one.isWarned = true
    }
    one.isChecked = true
  }

  function leaveOut(one: Followed, leftOut: string): void {
    one.state = { ...one.state, asOf: undefined, leftOut }
    one.isChecked = false
    one.failures++
  }

  async function askReplica(one: Followed): Promise<Replayed> {
    one.askedAt = now()
    try {
      if (!one.isChecked) await check(one)
      const opened = openedTo(one.replica)
      const { floor, epoch } = await one.replica.entities.floor({ signal })
      return { floor, epoch, opened }
    } finally {
      one.askedAt = undefined
    }
  }

  /** `replayed` was read before `current`. */
  function judge(one: Followed, { floor, ...seen }: Replayed, current: FloorState | undefined): void {
    if (current !== undefined && floor > current.floor) {
      one.above = floor
      one.state = { ...seen, asOf: undefined, leftOut: AHEAD }
      return
    }
    const asOf = marks.asOf(floor, one.above)
    one.state = { ...seen, asOf, leftOut: asOf === undefined ? UNKNOWN.leftOut : undefined }
  }

  /** The floor of the primary, read after this call; undefined where it does not come in time. */
  const nextFloor = (): Promise<FloorState | undefined> =>
    Promise.race([
      new Promise<FloorState | undefined>((resolve) => listeners.push(resolve)),
      pause(LATE_MS).then(() => undefined),
    ])

  async function followReplica(one: Followed): Promise<void> {
    while (isWanted()) {
      const { failures } = one
      try {
        const replayed = await untilAborted(askReplica(one), signal)
        const current = await nextFloor()
        // What it says now is of before it has failed.
        if (one.failures === failures) judge(one, replayed, current)
      } catch (error) {
        if (!signal.aborted) leaveOut(one, reasonOf(error))
      }
      await pause(pauseMs())
    }
    one.state = UNKNOWN
    one.loop = undefined
  }

  async function lookAtPrimary(): Promise<void> {
    const told = listeners
    listeners = []
    const sentAt = now()
    const current = await untilAborted(shard.entities.floor({ signal }), signal).catch(() => undefined)
    if (current !== undefined) marks.seen(current.floor, sentAt)
    for (const tell of told) tell(current)
    if (current === undefined || !isFloorOld(current, pauseMs())) return
    const at = now()
    marks.raised(await shard.entities.raiseFloor({ signal }), at)
  }

  async function followPrimary(): Promise<void> {
    while (isWanted()) {
      // It cannot be asked, or not be raised by this process: replicas grow older, until somebody else raises it.
      await lookAtPrimary().catch(() => undefined)
      await pause(pauseMs())
    }
    primaryLoop = undefined
  }

  function begin(): void {
    primaryLoop ??= followPrimary()
    for (const one of replicas) one.loop ??= followReplica(one)
  }

  function states(): readonly ReplicaState[] {
    for (const one of replicas) {
      const isLate = one.askedAt !== undefined && now() - one.askedAt > LATE_MS
      if (isLate && one.state.leftOut !== LATE) leaveOut(one, LATE)
    }
    return replicas.map(({ state }) => state)
  }

  return {
    ask(maxStalenessMs) {
      wantedAt = now()
      if (maxStalenessMs >= LEAST_BOUND_MS && (maxStalenessMs <= bound || wantedAt - boundAt > FOLLOW_MS)) {
        bound = maxStalenessMs
        boundAt = wantedAt
      }
      const isFollowed = primaryLoop !== undefined && replicas.every(({ loop }) => loop !== undefined)
      if (!isFollowed && !signal.aborted) context.events.detached(begin)
      return states()
    },
    states,
    failed: (replica, reason) => leaveOut(replicas[replica]!, reason),
    async close() {
      closing.abort()
      await Promise.all([primaryLoop, ...replicas.map(({ loop }) => loop)])
    },
  }
}
