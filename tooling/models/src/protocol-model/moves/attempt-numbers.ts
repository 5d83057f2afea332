import type { StepResult } from '../explore.ts'
import {
  awayOf,
  begin,
  beginTarget,
  bitOf,
  BOTH,
  changeSource,
  changeTarget,
  has,
  hasLast,
  NONE,
  noNumberMemory,
  without,
  type AttemptGuards,
  type NumberMemory,
  type NumberStep,
  type NumberWorld,
} from './attempt-world.ts'

/** Epochs of the target after which no mover begins another one. Movers whose attempts have one number would renew them for ever. */
const MOST_EPOCHS = 16
const START = 'begins an attempt at the source'
const COME = 'begins an attempt at the target'
const COMPARE = 'compares'

function copiesAnew(local: NumberMemory): StepResult {
  Object.assign(local, noNumberMemory())
  return { goto: START }
}

/** Begins an attempt at the source. Without `lost`, at those lost buckets that the attempt before had. */
function leave(world: NumberWorld, local: NumberMemory, guards: AttemptGuards, lost?: number): void {
  const { source } = world
  const kept = without(BOTH, awayOf(source))
  const left = source.leaving?.buckets ?? NONE
  const buckets = kept | (lost ?? left)
  world.changes++
  local.attempt = { number: 0, buckets: NONE }
  local.lost = without(buckets, kept)
  if (buckets === NONE) {
    if (left !== NONE) changeSource(world, { leaving: null })
    return
  }
  const records = [source.leaving, ...source.away].map((record) => record?.number ?? 0)
  const coming = world.target.coming?.number ?? 0
  const number = guards.numbersFollowTheEpoch ? world.changes : 1 + Math.max(coming, ...records)
  local.attempt = { number, buckets }
  changeSource(world, { leaving: local.attempt })
}

function beginsAttempt(guards: AttemptGuards, maxChanges: number): NumberStep[] {
  return [
    {
      label: START,
      run(world, local): StepResult {
        if (world.changes === maxChanges) return 'end'
        leave(world, local, guards)
        return undefined
      },
    },
    {
      label: 'lets the target begin',
      run(world): StepResult {
        beginTarget(world)
        return undefined
      },
    },
    {
      label: 'looks for lost buckets',
      run({ source, target }, local): StepResult {
        const lost = without(awayOf(source), target.serves)
        const numbers = source.away.map((record, bucket) => (has(lost, bucket) ? record!.number : 0))
        if (local.known !== 0 && local.known <= Math.max(...numbers)) return copiesAnew(local)
        if (lost === local.lost) return local.attempt.buckets === NONE ? copiesAnew(local) : { goto: COME }
        local.lost = lost
        return undefined
      },
    },
    {
      label: 'begins an attempt at lost buckets',
      run(world, local): StepResult {
        if (world.changes === maxChanges) return 'end'
        leave(world, local, guards, local.lost)
        return local.attempt.buckets === NONE ? copiesAnew(local) : undefined
      },
    },
    {
      label: COME,
      run(world, local): StepResult {
        beginTarget(world)
        const { coming, serves } = world.target
        const { number, buckets } = local.attempt
        const wasLeft = coming !== null && without(coming.buckets, buckets) !== NONE
        const isMade = coming?.number === number
        const isKnown = isMade || local.known === 0 || coming?.number === local.known
        if (wasLeft || !isKnown) return copiesAnew(local)
        if (!isMade) {
          if ((coming?.number ?? 0) > number) return 'end'
          if ((buckets & serves) !== NONE) return copiesAnew(local)
          changeTarget(world, { coming: local.attempt })
        }
        local.known = number
        local.epoch = world.target.epoch
        if (!hasLast(world.target, local.last)) return copiesAnew(local)
        return local.isCopied ? { goto: COMPARE } : undefined
      },
    },
  ]
}

/** Deletes what the target has of a bucket, before anything is copied. */
function clears(bucket: number, { deletesNeedTheEpoch }: AttemptGuards): NumberStep {
  return {
    label: `deletes leftovers of bucket ${bucket}`,
    run(world, local): StepResult {
      if (local.isCleared || !has(local.attempt.buckets, bucket)) return undefined
      const { target } = world
      if (deletesNeedTheEpoch && target.epoch !== local.epoch) return { goto: START }
      if (target.versions[bucket] === 0) return undefined
      world.target = { ...target, versions: target.versions.with(bucket, 0) }
      local.hasDeleted = true
      return undefined
    },
  }
}

const endsClearing: NumberStep = {
  label: 'ends the deletes',
  run(world, local): StepResult {
    if (local.isCleared) return undefined
    local.isCleared = !local.hasDeleted
    local.hasDeleted = false
    return local.isCleared ? renews(world, local) : { goto: START }
  },
}

/** Gives the attempt a new epoch at the target. */
function renews(world: NumberWorld, local: NumberMemory): StepResult {
  const { coming } = world.target
  const { number, buckets } = local.attempt
  if (world.epochs === MOST_EPOCHS) return 'end'
  if (coming !== null && coming.number > number) return 'end'
  if (coming?.number !== number || without(coming.buckets, buckets) !== NONE) return copiesAnew(local)
  if (without(buckets, coming.buckets) !== NONE) return { goto: START }
  changeTarget(world, {})
  local.epoch = world.target.epoch
  return hasLast(world.target, local.last) ? undefined : copiesAnew(local)
}

function copies(bucket: number): NumberStep {
  const label = `copies bucket ${bucket}`
  return {
    label,
    run(world, local): StepResult {
      const { target } = world
      const isIn = has(local.attempt.buckets, bucket)
      if (isIn && (target.epoch !== local.epoch || !hasLast(target, local.last)))
        return renews(world, local) ?? { goto: label }
      if (isIn) {
        world.target = { ...target, versions: target.versions.with(bucket, 1) }
        local.last = bucket
      }
      if (bucket === 0) return undefined
      local.isCopied = true
      return { goto: START }
    },
  }
}

const compares: NumberStep = {
  label: COMPARE,
  run({ target }, local): StepResult {
    const isWhole = [0, 1].every(
      (bucket) => !has(local.attempt.buckets, bucket) || target.versions[bucket] === 1,
    )
    return isWhole ? undefined : copiesAnew(local)
  },
}

/** Hands a bucket over, and lets the target begin with it. */
function handsOver(bucket: number): NumberStep[] {
  const isOver = ({ attempt }: NumberMemory): boolean => !has(attempt.buckets, bucket)
  return [
    {
      label: `looks at the target before bucket ${bucket}`,
      run({ target: { coming, epoch } }, local): StepResult {
        if (isOver(local)) return undefined
        const { number, buckets } = local.attempt
        if (coming?.number !== number || without(coming.buckets, buckets) !== NONE) return copiesAnew(local)
        local.epoch = epoch
        return undefined
      },
    },
    {
      label: `hands bucket ${bucket} over`,
      run(world, local): StepResult {
        if (isOver(local)) return undefined
        const { leaving, away } = world.source
        if (leaving?.number !== local.attempt.number) return 'end'
        const rest = without(leaving.buckets, bitOf(bucket))
        const { number } = local.attempt
        changeSource(world, {
          leaving: rest === NONE ? null : { number, buckets: rest },
          away: away.with(bucket, local.last === null ? { number } : { number, last: local.last }),
        })
        return undefined
      },
    },
    {
      label: `begins with bucket ${bucket}`,
      run(world, local): StepResult {
        if (isOver(local)) return undefined
        const { target } = world
        if (
          target.epoch === local.epoch &&
          target.coming?.number === local.attempt.number &&
          hasLast(target, local.last)
        )
          begin(world, bucket)
        else beginTarget(world)
        if (!has(world.target.serves, bucket)) return copiesAnew(local)
        local.epoch = world.target.epoch
        local.last = null
        local.attempt = { ...local.attempt, buckets: without(local.attempt.buckets, bitOf(bucket)) }
        return undefined
      },
    },
  ]
}

/**
 * Copies both buckets to a target that has lost them, and hands them over again. Begins anew at the end, as another process does. All movers
 * together change the attempt at the source so many times.
 */
export function numberMover(guards: AttemptGuards, maxChanges: number): NumberStep[] {
  return [
    ...beginsAttempt(guards, maxChanges),
    clears(0, guards),
    clears(1, guards),
    endsClearing,
    copies(0),
    copies(1),
    compares,
    ...handsOver(0),
    ...handsOver(1),
  ]
}
