import type { Event, Step, StepResult } from '../explore.ts'

/** Guards of a move whose target may lose its last commits. The tests turn each off to show what breaks. */
export interface LossGuards {
  /** A copy is written only where the copy before it is. */
  readonly copiesNeedTheLast: boolean
  /** A target begins only with the last copy. */
  readonly beginNeedsTheLast: boolean
  /** It looks for that copy in the statement by which it begins. */
  readonly beginsByOneStatement: boolean
  /** A mover begins another attempt after it has copied index rows, and before it compares them. */
  readonly rowsHaveAnAttempt: boolean
  /** The saved record has the last attempt at the target, and the next mover looks for it. */
  readonly attemptIsSaved: boolean
  /** The saved record has the last copy, which the next mover needs. */
  readonly lastIsSaved: boolean
  /** A mover drops a record that is not later than the hand-over of a bucket that the target has lost. */
  readonly givenUpIsCopiedAnew: boolean
  /** A target begins only with the attempt that was handed over. */
  readonly beginNeedsTheAttempt: boolean
}

export const allLossGuards: LossGuards = {
  copiesNeedTheLast: true,
  beginNeedsTheLast: true,
  beginsByOneStatement: true,
  rowsHaveAnAttempt: true,
  attemptIsSaved: true,
  lastIsSaved: true,
  givenUpIsCopiedAnew: true,
  beginNeedsTheAttempt: true,
}

/** Greatest number of commits that a target loses. */
const MOST_LOST = 4

/** A copy of an entity, with its version. */
interface Copy {
  readonly entity: number
  readonly version: number
}

/** Progress of a move. A mover saves it at the target, whatever the target has. */
interface Progress {
  /** Versions of the entities that were copied. */
  copied: number[]
  hasRows: boolean
  last: Copy | null
  attempt: number
}

interface Target {
  /** Versions of the entities. */
  readonly copies: readonly number[]
  readonly hasRows: boolean
  readonly attempt: number
  readonly epoch: number
  readonly serves: boolean
  readonly record: Progress
}

/** The entities of a bucket, which moves from a source that never fails. */
export interface LossWorld {
  /** Last acknowledged versions of the entities. */
  versions: number[]
  /** Versions at the source, which stands still once it has given the bucket up. */
  source: number[]
  /** Number of the last attempt. Each one has its own, which `attempt-numbers.ts` shows. */
  attempt: number
  isSealed: boolean
  away: { readonly attempt: number; readonly last: Copy | null } | null
  /** The last states of the target, one for each commit. The last one is the present state. */
  states: Target[]
  epochs: number
  /** Set once a mover has seen that the target serves the bucket. */
  isOver: boolean
}

export interface LossMemory extends Progress {
  /** Number of the attempt that begins. */
  next: number
  /** Epoch of the target since the attempt began there. */
  epoch: number
  isLast: boolean
  hasSeen: boolean
  /** Set while it copies a bucket again that the source has given up, and the target has lost. */
  isAgain: boolean
}

type LossStep = Step<LossWorld, LossMemory>

const nothing = (): Progress => ({ copied: [0, 0], hasRows: false, last: null, attempt: 0 })

/** Tells whether a mover copies index rows. It hands lost buckets over before it copies them, if others are left to hand over. */
export interface LossRows {
  readonly rows: boolean
}

export const noLossMemory = (): LossMemory => ({
  ...nothing(),
  next: 0,
  epoch: 0,
  isLast: false,
  hasSeen: false,
  isAgain: false,
})

/** Makes the world before the move. Without `rows` the target has all index rows from the beginning. */
export function lossWorld({ rows }: LossRows): LossWorld {
  const target: Target = {
    copies: [0, 0],
    hasRows: !rows,
    attempt: 0,
    epoch: 0,
    serves: false,
    record: nothing(),
  }
  const states = [target]
  return {
    versions: [1, 1],
    source: [1, 1],
    attempt: 0,
    isSealed: false,
    away: null,
    states,
    epochs: 0,
    isOver: false,
  }
}

const targetOf = ({ states }: LossWorld): Target => states.at(-1) as Target

function commit(world: LossWorld, change: Partial<Target>): void {
  world.states.push({ ...targetOf(world), ...change })
  if (world.states.length > MOST_LOST + 1) world.states.shift()
}

const hasCopy = ({ copies }: Target, copy: Copy | null): boolean =>
  copy === null || copies[copy.entity]! >= copy.version

/** Lets the target lose so many commits, as in a failover to a replica that lags. Writes that it had accepted are lost with them. */
export function lossOf(commits: number): Event<LossWorld> {
  return {
    label: `the target loses ${commits} commits`,
    possible: ({ states }) => states.length > commits,
    happen(world) {
      world.states.splice(-commits)
      const { serves, copies } = targetOf(world)
      world.versions = [...(serves ? copies : world.source)]
    },
  }
}

/** Writes an entity where it is served. */
export function lossWriter(entity: number): LossStep[] {
  return [
    {
      label: `writes entity ${entity}`,
      run(world) {
        if (world.isSealed) return 'blocked'
        const { serves, copies } = targetOf(world)
        const version = world.versions[entity]! + 1
        if (serves) commit(world, { copies: copies.with(entity, version) })
        else if (world.away === null) world.source[entity] = version
        else return 'blocked'
        world.versions[entity] = version
        return undefined
      },
    },
  ]
}

const START = 'begins an attempt at the source'
const LOOK = 'looks for the last copy at the target'
const CHECK = 'looks whether the target serves'

function beginsAttempt(guards: LossGuards, maxAttempts: number, label: string): LossStep[] {
  return [
    {
      label,
      run(world, local): StepResult {
        if (world.away !== null && (!local.isAgain || targetOf(world).serves)) return { goto: LOOK }
        // A mover that has lost copies begins again with nothing. Any other one goes on by the record.
        if (label === START) Object.assign(local, structuredClone(targetOf(world).record), { isLast: false })
        const isEarlier = local.attempt !== 0 && local.attempt <= (world.away?.attempt ?? 0)
        if (guards.givenUpIsCopiedAnew && isEarlier) return copiesAnew(world, local)
        if (world.attempt === maxAttempts) return 'end'
        local.next = ++world.attempt
        world.isSealed = false
        return undefined
      },
    },
    {
      label: `${label}, then at the target`,
      run(world, local): StepResult {
        const { attempt, serves } = targetOf(world)
        const known = local.attempt
        if (attempt >= local.next || serves) return 'end'
        if (guards.attemptIsSaved && known !== 0 && attempt !== known) return copiesAnew(world, local)
        local.attempt = local.next
        commit(world, { attempt: local.attempt, epoch: ++world.epochs })
        local.epoch = world.epochs
        return undefined
      },
    },
    {
      label: `${label}, and looks for the last copy`,
      run: (world, local): StepResult =>
        hasCopy(targetOf(world), local.last) ? undefined : copiesAnew(world, local),
    },
  ]
}

/** Saves that nothing is copied, and begins again. */
function copiesAnew(world: LossWorld, local: LossMemory): StepResult {
  Object.assign(local, nothing())
  commit(world, { record: nothing() })
  return { goto: START }
}

function copyOf(entity: number, guards: LossGuards): LossStep {
  return {
    label: `copies entity ${entity}`,
    run(world, local): StepResult {
      const target = targetOf(world)
      const version = world.source[entity]!
      if (version === local.copied[entity]) return undefined
      if (target.epoch !== local.epoch) return target.attempt > local.attempt ? 'end' : { goto: START }
      if (guards.copiesNeedTheLast && !hasCopy(target, local.last)) return copiesAnew(world, local)
      commit(world, { copies: target.copies.with(entity, version) })
      local.copied[entity] = version
      local.last = { entity, version }
      return undefined
    },
  }
}

const savesRecord = (time: string, { lastIsSaved }: LossGuards): LossStep => ({
  label: `saves the record ${time}`,
  run(world, { copied, hasRows, last, attempt }) {
    commit(world, { record: { copied, hasRows, last: lastIsSaved ? last : null, attempt } })
  },
})

/**
 * Copies two entities, and the index rows with `rows`, hands the bucket over, and lets the target begin. Copies everything again if the target cannot.
 * Movers that take the move from each other would make attempts for ever, so a mover ends after so many of both.
 */
export function lossMover(guards: LossGuards, maxAttempts: number, { rows }: LossRows): LossStep[] {
  const copyRows: LossStep = {
    label: 'copies index rows',
    run(world, local): StepResult {
      if (local.hasRows || !rows) return { goto: 'seals the source' }
      commit(world, { hasRows: true })
      local.hasRows = true
      return undefined
    },
  }
  return [
    ...beginsAttempt(guards, maxAttempts, START),
    copyOf(0, guards),
    savesRecord('between copies', guards),
    copyOf(1, guards),
    {
      label: 'ends the copies',
      run: (_, { isLast }): StepResult => (isLast ? { goto: 'hands over' } : undefined),
    },
    copyRows,
    ...(guards.rowsHaveAnAttempt
      ? beginsAttempt(guards, maxAttempts, 'begins another attempt at the source')
      : []),
    {
      label: 'compares index rows',
      run(world) {
        if (!targetOf(world).hasRows) commit(world, { hasRows: true })
      },
    },
    savesRecord('with the rows', guards),
    {
      label: 'seals the source',
      run(world, local): StepResult {
        if (world.attempt !== local.attempt) return 'end'
        world.isSealed = true
        local.isLast = true
        return { goto: 'copies entity 0' }
      },
    },
    {
      label: 'hands over',
      run(world, { attempt, last }): StepResult {
        if (world.attempt !== attempt || !world.isSealed) return 'end'
        world.isSealed = false
        world.away = { attempt, last }
        return undefined
      },
    },
    {
      label: LOOK,
      run(world, local): StepResult {
        const target = targetOf(world)
        local.epoch = target.epoch
        local.hasSeen = hasCopy(target, world.away!.last)
        return undefined
      },
    },
    {
      label: 'begins the target',
      run(world, local): StepResult {
        const target = targetOf(world)
        const { attempt, last } = world.away!
        const hasLast = guards.beginsByOneStatement ? hasCopy(target, last) : local.hasSeen
        if (target.serves || target.epoch !== local.epoch) return { goto: CHECK }
        if (guards.beginNeedsTheAttempt && target.attempt !== attempt) return { goto: CHECK }
        if (!hasLast && guards.beginNeedsTheLast) return { goto: CHECK }
        commit(world, { serves: true, epoch: ++world.epochs })
        local.last = null
        return undefined
      },
    },
    savesRecord('of a mover that goes on', guards),
    {
      label: CHECK,
      run(world, local): StepResult {
        if (targetOf(world).serves) {
          world.isOver = true
          return 'end'
        }
        local.isAgain = true
        return { goto: START }
      },
    },
  ]
}

/** Returns a broken promise: a target that serves the bucket without what was acknowledged. */
export function brokenLoss(world: LossWorld): string | undefined {
  const { serves, copies: found, hasRows } = targetOf(world)
  if (!serves) return undefined
  if (!hasRows) return 'the target serves the bucket without index rows'
  const lost = world.versions.findIndex((version, entity) => found[entity] !== version)
  return lost === -1 ? undefined : `the target serves the bucket without the last state of entity ${lost}`
}

/** Returns a move without a good end. */
export function unfinishedLoss({ isOver }: LossWorld): string | undefined {
  return isOver ? undefined : 'no shard serves the bucket, and no mover goes on'
}
