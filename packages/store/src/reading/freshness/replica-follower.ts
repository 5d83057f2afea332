import type { Shard } from '@looseleaf/core'
import { inBackground, elapsedBy, untilAborted, type FloorState } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { isFloorOld, openedTo, type Looks } from '@looseleaf/protocol/internal'
import { AHEAD, checkReplica, LATE, reasonOf } from './check-replica.ts'
import { createReplicaMarks } from './replica-marks.ts'

/** The known state of a replica. Moments are of `elapsedBy`. */
export interface ReplicaState {
  /** The replica knows every write acknowledged before this moment; undefined if unknown. */
  readonly asOf: number | undefined
  readonly epoch: number
  /** Connections opened at the last look. A later connection may have reached another server, or one that has lost data. */
  readonly opened: number | undefined
  /** Reason why no call reads from it, for people; undefined while calls may. */
  readonly exclusionReason: string | undefined
}

/** Knows the age of the replicas of a shard. */
export interface ReplicaFollower {
  /** Returns the known states, for a read with this bound. A shard is followed only while reads ask, and as often as their bounds need. */
  ask(maxStalenessMs: number): readonly ReplicaState[]
  /** Returns the known states, without keeping the shard followed. */
  states(): readonly ReplicaState[]
  /** Leaves out a replica that has failed until it answers again. */
  failed(replica: number, reason: string): void
  close(): Promise<void>
}

/** Looks within the bound of the reads, so that one or two may be late. */
const LOOKS = 4
/** Milliseconds between two looks. */
const MIN_PAUSE_MS = 50
const MAX_PAUSE_MS = 1_000
/** Smaller bounds do not make looks more frequent, because no replica can be known to keep them. */
const LEAST_BOUND_MS = LOOKS * MIN_PAUSE_MS
/** Milliseconds without an answer after which a replica is left out. */
const LATE_MS = 1_000
/** Milliseconds for which a shard is followed after the last read asked. */
const FOLLOW_MS = 10_000

const UNKNOWN: ReplicaState = {
  asOf: undefined,
  epoch: 0,
  opened: undefined,
  exclusionReason: 'Its age is not known yet.',
}

type Replayed = Pick<FloorState, 'floor' | 'epoch'> & Pick<ReplicaState, 'opened'>

interface Followed {
  readonly replica: Shard
  state: ReplicaState
  /** True if it was checked to be of this store since its last failure. */
  isChecked: boolean
  isWarned: boolean
  /** Number of failures. A look that began before the last one must not change the state. */
  failures: number
  /** Its floor when it was ahead of its primary. Floors up to this one may belong to a history that the primary has lost. */
  above: number
  /** Moment of the question that it has not answered yet. */
  askedAt: number | undefined
  loop: Promise<void> | undefined
}

/**
 * Follows the replicas of a shard by its floor. Reads the floor of each replica, and then the floor of the primary. Raises the floor if
 * no other process has done so since the look before.
 */
export function createReplicaFollower(
  context: EngineContext,
  looks: Looks,
  shard: Shard,
  number: number,
  onWarning: (message: string) => void,
): ReplicaFollower {
  const now = elapsedBy(context.time)
  // These sleeps do not keep the process alive.
  const backgroundTime = inBackground(context.time)
  const closing = new AbortController()
  const { signal } = closing
  const replicas = (shard.replicas ?? []).map((replica): Followed => ({
    replica,
    state: UNKNOWN,
    isChecked: false,
    isWarned: false,
    failures: 0,
    above: -Infinity,
    askedAt: undefined,
    loop: undefined,
  }))
  const marks = createReplicaMarks()
  let primaryLoop: Promise<void> | undefined
  /** Called with the floor of the primary when it is read next, or undefined if that fails. */
  let listeners: ((current: FloorState | undefined) => void)[] = []
  let bound = Infinity
  let boundAt = -Infinity
  let wantedAt = -Infinity

  /** Reads the floor of a server. Its epoch counts as a look of this process. */
  const floorOf = (server: Shard): Promise<FloorState> =>
    looks.of(server).by(
      () => server.entities.floor({ signal }),
      ({ epoch }) => epoch,
    )

  const isWanted = (): boolean => !signal.aborted && now() - wantedAt <= FOLLOW_MS
  const pauseMs = (): number => Math.min(Math.max(bound / LOOKS, MIN_PAUSE_MS), MAX_PAUSE_MS)
  const pause = (ms: number): Promise<void> =>
    untilAborted(backgroundTime.sleep(ms, signal), signal).catch(() => undefined)

  /** Throws if it is no replica of this shard. Warns once of its unsafe settings. */
  async function check(followed: Followed): Promise<void> {
    await checkReplica(followed.replica, context, number, { signal })
    if (!followed.isWarned) {
      for (const warning of await followed.replica.warnings({ signal }))
        onWarning(`${followed.replica.name}: ${warning}`)
      followed.isWarned = true
    }
    followed.isChecked = true
  }

  function leaveOut(followed: Followed, exclusionReason: string): void {
    followed.state = { ...followed.state, asOf: undefined, exclusionReason }
    followed.isChecked = false
    followed.failures++
  }

  async function askReplica(followed: Followed): Promise<Replayed> {
    followed.askedAt = now()
    try {
      if (!followed.isChecked) await check(followed)
      const opened = openedTo(followed.replica)
      const { floor, epoch } = await floorOf(followed.replica)
      return { floor, epoch, opened }
    } finally {
      followed.askedAt = undefined
    }
  }

  /** Sets the state of a replica from its floor and the floor of the primary, which was read later. */
  function judge(followed: Followed, { floor, ...seen }: Replayed, current: FloorState | undefined): void {
    if (current !== undefined && floor > current.floor) {
      followed.above = floor
      followed.state = { ...seen, asOf: undefined, exclusionReason: AHEAD }
      return
    }
    const asOf = marks.asOf(floor, followed.above)
    followed.state = {
      ...seen,
      asOf,
      exclusionReason: asOf === undefined ? UNKNOWN.exclusionReason : undefined,
    }
  }

  /** Resolves with a floor of the primary that is read after this call; undefined if it does not come in time. */
  const nextFloor = (): Promise<FloorState | undefined> =>
    Promise.race([
      new Promise<FloorState | undefined>((resolve) => listeners.push(resolve)),
      pause(LATE_MS).then(() => undefined),
    ])

  async function followReplica(followed: Followed): Promise<void> {
    while (isWanted()) {
      const { failures } = followed
      try {
        const replayed = await untilAborted(askReplica(followed), signal)
        const current = await nextFloor()
        // After a failure this answer is stale.
        if (followed.failures === failures) judge(followed, replayed, current)
      } catch (error) {
        if (!signal.aborted) leaveOut(followed, reasonOf(error))
      }
      await pause(pauseMs())
    }
    followed.state = UNKNOWN
    followed.loop = undefined
  }

  async function lookAtPrimary(): Promise<void> {
    const waiting = listeners
    listeners = []
    const sentAt = now()
    const current = await untilAborted(floorOf(shard), signal).catch(() => undefined)
    if (current !== undefined) {
      marks.seen(current.floor, sentAt)
      // Replicas serve by the same catalog as their primary, so the copy of this process has to follow.
      if (current.epoch !== context.catalog.latest().epochs[number])
        await untilAborted(context.catalog.reload(), signal).catch(() => undefined)
    }
    for (const resolve of waiting) resolve(current)
    if (current === undefined || !isFloorOld(current, pauseMs())) return
    const at = now()
    marks.raised(await shard.entities.raiseFloor({ signal }), at)
  }

  async function followPrimary(): Promise<void> {
    while (isWanted()) {
      // If the floor cannot be read or raised, replicas count as older until a later look, or another process, succeeds.
      await lookAtPrimary().catch(() => undefined)
      await pause(pauseMs())
    }
    primaryLoop = undefined
  }

  function begin(): void {
    primaryLoop ??= followPrimary()
    for (const followed of replicas) followed.loop ??= followReplica(followed)
  }

  function states(): readonly ReplicaState[] {
    for (const followed of replicas) {
      const isLate = followed.askedAt !== undefined && now() - followed.askedAt > LATE_MS
      if (isLate && followed.state.exclusionReason !== LATE) leaveOut(followed, LATE)
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
