import type { Event } from '../explore.ts'
import { flush, noMoveMemory, other } from './bucket.ts'
import type { MoveMemory, MoveProcess, MoveStep, MoveWorld, ShardNumber } from './bucket.ts'
import type { MoveGuards } from './guards.ts'

/**
 * The stream of one shard of a follower, which has one for each shard. It reads windows of the shard's changes, each
 * up to a raised floor, and does not end.
 */
export function followerOf(number: ShardNumber, guards: MoveGuards): MoveProcess {
  const look = ({ shards }: MoveWorld, local: MoveMemory): void => void (local.serves = shards[number].serves)
  const lookEarly: MoveStep = {
    label: 'looks at the catalog of its shard',
    run(world, local) {
      if (!hasNews(world, number)) return 'blocked'
      look(world, local)
      return undefined
    },
  }
  const first = guards.judgesAfterPage ? 'reads a page up to a new floor' : lookEarly.label
  const goOn = (world: MoveWorld, local: MoveMemory): { goto: string } => {
    world.follower.places[number] = local.until
    Object.assign(local, noMoveMemory(), { beginnings: local.beginnings })
    return { goto: first }
  }
  const steps: MoveProcess = [
    ...(guards.judgesAfterPage ? [] : [lookEarly]),
    {
      label: 'reads a page up to a new floor',
      run(world, local) {
        const shard = world.shards[number]
        if (!hasNews(world, number)) return 'blocked'
        shard.floor++
        flush(shard)
        local.until = shard.floor
        const { row } = shard
        local.page = row.version !== 0 && row.updated >= world.follower.places[number] ? row : undefined
        return undefined
      },
    },
    {
      label: 'looks at the catalog of its shard and judges',
      run(world, local) {
        if (guards.judgesAfterPage) look(world, local)
        const verdict = judge(world, number, local, guards)
        if (verdict === 'hold') return { goto: 'waits for the source' }
        if (verdict === 'skip') return goOn(world, local)
        if (verdict === 'begin again') beginFollower(world)
        return undefined
      },
    },
    {
      label: 'hands the change over',
      run(world, local) {
        const { follower } = world
        const { version } = local.page!
        if (version < follower.handed) world.wrong = 'a follower gets an older state after a newer one'
        follower.handed = version
        return goOn(world, local)
      },
    },
    {
      label: 'waits for the source',
      run(world) {
        if (isAhead(world, other(number), world.shards[number].serves.sourceEnd, guards)) return 'blocked'
        return { goto: 'looks at the catalog of its shard and judges' }
      },
    },
  ]
  return steps.map(({ label, run }) => ({
    label,
    run(world, local, process) {
      const { beginnings } = world.follower
      if (beginnings === 0) return 'blocked'
      if (local.beginnings === beginnings) return run(world, local, process)
      Object.assign(local, noMoveMemory(), { beginnings })
      return { goto: first }
    },
  }))
}

export function hasNews({ shards, follower }: MoveWorld, number: ShardNumber): boolean {
  const { row, serves } = shards[number]
  const place = follower.places[number]
  return (row.version !== 0 && row.updated >= place) || place < Math.max(serves.end, serves.gone)
}

export function judge(
  world: MoveWorld,
  number: ShardNumber,
  { page, serves }: MoveMemory,
  guards: MoveGuards,
  isHeld = isAhead,
): 'hand over' | 'skip' | 'hold' | 'begin again' {
  const { shards, follower } = world
  const { is, arrival, begin, sourceEnd, gone, goneAt } = serves!
  const source = other(number)
  const isBehind = follower.places[number] < gone && follower.since[number] < goneAt
  if (isBehind && guards.gapsAreRefused) return 'begin again'
  if (page === undefined) return 'skip'
  const asCopy = guards.copiesAreSkipped ? 'skip' : 'hand over'
  if (is === 'none' || is === 'coming') return asCopy
  if (is !== 'owner' && !guards.sourceIsReadToEnd) return 'skip'
  if (arrival === 0) return 'hand over'
  if (guards.targetIsHeld && isHeld(world, source, sourceEnd, guards)) return 'hold'
  if (page.updated >= begin) return 'hand over'
  const left = shards[source].serves
  const beganLate = left.gone >= sourceEnd && follower.since[source] >= left.goneAt
  return beganLate && guards.lateFollowersTakeCopies ? 'hand over' : asCopy
}

/**
 * Tells whether the follower has changes of the source to hand over before those of the target: its place is before the end there, or a
 * change fails there.
 */
function isAhead(
  { follower }: MoveWorld,
  source: ShardNumber,
  end: number,
  { failingIsAwaited }: MoveGuards,
): boolean {
  return follower.places[source] < end || (failingIsAwaited && follower.failing[source] !== 0)
}

/** As `isAhead`, for a consumer that began before the source was emptied: the mover has waited for it. */
export function isConsumerAhead(
  world: MoveWorld,
  source: ShardNumber,
  end: number,
  guards: MoveGuards,
): boolean {
  const { gone, goneAt } = world.shards[source].serves
  if (gone >= end && end > 0 && world.follower.since[source] < goneAt) return false
  return isAhead(world, source, end, guards)
}

/** Begins a follower with nothing, or begins it again. */
export function beginFollower({ shards, follower }: MoveWorld): void {
  for (const shard of shards) {
    shard.floor++
    flush(shard)
  }
  Object.assign(follower, {
    places: [0, 0],
    since: shards.map(({ floor }) => floor),
    handed: 0,
    isNamed: true,
  })
  follower.beginnings++
}

export const followerBegins: Event<MoveWorld> = {
  label: 'a follower begins',
  possible: ({ follower }) => follower.beginnings === 0,
  happen: beginFollower,
}

/** Checks at rest that the last state was handed over, if the follower has begun and handlers do not fail for ever. */
export function lastStateNotHanded({ committed, follower }: MoveWorld): string | undefined {
  return follower.beginnings === 0 ||
    follower.isFailing ||
    committed.version === 0 ||
    follower.handed === committed.version
    ? undefined
    : `version ${committed.version} was not handed over; the last one was ${follower.handed}`
}
