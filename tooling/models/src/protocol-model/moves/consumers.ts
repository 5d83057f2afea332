import type { Event } from '../explore.ts'
import { flush, noMoveMemory, other } from './bucket.ts'
import type { MoveMemory, MoveProcess, MoveStep, MoveWorld, ShardNumber } from './bucket.ts'
import { hasNews, isConsumerAhead, judge } from './followers.ts'
import type { MoveGuards } from './guards.ts'

/*
 * A consumer, whose handlers may fail. It saves its place on each shard together with the failing change, and another process may continue
 * there. A failing change is retried with the present state of its entity, on the shard that owns it.
 */

const ROUND = 'begins a round'
const JUDGE = 'looks at the catalog and judges the change'
const SAVE = 'saves its place'
const PASS = 'passes the failing change on'

/** Returns the stream of one shard of a consumer. */
export function consumerOf(number: ShardNumber, guards: MoveGuards): MoveProcess {
  const again = (local: MoveMemory): { goto: string } => {
    Object.assign(local, noMoveMemory(), { takeovers: local.takeovers })
    return { goto: ROUND }
  }
  /** Returns whether the handler was called without a failure. */
  const handle = (world: MoveWorld, version: number): boolean => {
    const { follower } = world
    if (follower.isFailing) return false
    if (version < follower.handed) world.wrong = 'a consumer gets an older state after a newer one'
    follower.handed = version
    return true
  }
  const steps: MoveProcess = [
    {
      label: ROUND,
      run(world, local) {
        const { follower } = world
        const { passedOn, failing } = follower
        if (follower.beginnings === 0) return 'blocked'
        if (passedOn[number] !== 0) {
          failing[number] = Math.max(failing[number], passedOn[number])
          passedOn[number] = 0
          return again(local)
        }
        if (failing[number] !== 0 && !follower.isFailing) return { goto: 'reads the failing entity' }
        return hasNews(world, number) ? undefined : 'blocked'
      },
    },
    {
      label: 'reads a page up to a new floor',
      run({ shards, follower }, local) {
        const shard = shards[number]
        shard.floor++
        flush(shard)
        local.until = shard.floor
        const { row } = shard
        local.page = row.version !== 0 && row.updated >= follower.places[number] ? row : undefined
      },
    },
    {
      label: JUDGE,
      run(world, local) {
        local.serves = world.shards[number].serves
        const verdict = judge(world, number, local, guards, isConsumerAhead)
        if (verdict === 'hold') return { goto: 'waits for the source' }
        if (verdict === 'begin again') world.wrong = 'a consumer has to begin again'
        return verdict === 'hand over' ? undefined : { goto: SAVE }
      },
    },
    {
      label: 'hands the change over',
      run(world, local) {
        const { version } = local.page!
        local.failed = handle(world, version) ? -1 : version
        return undefined
      },
    },
    ...(guards.savedBeforePassing ? [] : [passUnsaved(number)]),
    {
      label: SAVE,
      run({ follower }, local) {
        follower.places[number] = local.until
        if (local.failed !== 0) follower.failing[number] = Math.max(0, local.failed)
        return again(local)
      },
    },
    {
      label: 'waits for the source',
      run(world) {
        if (isConsumerAhead(world, other(number), world.shards[number].serves.sourceEnd, guards))
          return 'blocked'
        return { goto: JUDGE }
      },
    },
    ...retries(number, guards, handle, again),
  ]
  return steps.map(({ label, run }) => ({
    label,
    run(world, local, process) {
      const { takeovers } = world.follower
      if (local.takeovers === takeovers) return run(world, local, process)
      Object.assign(local, noMoveMemory(), { takeovers })
      return { goto: ROUND }
    },
  }))
}

/** Tells whether another shard has the bucket, and the consumer has read all of its changes here. */
function isOver({ shards, follower }: MoveWorld, number: ShardNumber): boolean {
  const { is, end } = shards[number].serves
  return is !== 'owner' && (is !== 'away' || follower.places[number] >= end)
}

/** Passes a change on before its place is saved. */
const passUnsaved = (number: ShardNumber): MoveStep => ({
  label: 'passes the change on before it saves its place',
  run(world, { failed }) {
    const { is } = world.shards[number].serves
    if (failed > 0 && is !== 'owner' && is !== 'coming') world.follower.passedOn[other(number)] = failed
  },
})

function retries(
  number: ShardNumber,
  guards: MoveGuards,
  handle: (world: MoveWorld, version: number) => boolean,
  again: (local: MoveMemory) => { goto: string },
): MoveProcess {
  return [
    {
      label: 'reads the failing entity',
      run({ shards, follower }, local) {
        local.page = shards[number].row
        local.retried = follower.failing[number]
      },
    },
    {
      label: 'looks at the catalog and judges the retry',
      run(world, local) {
        if (world.shards[number].serves.is === 'coming') return 'blocked'
        if (guards.failingIsPassedOn && isOver(world, number)) return { goto: PASS }
        return local.page!.version === 0 ? again(local) : undefined
      },
    },
    {
      label: 'hands the failing change over again',
      run(world, local) {
        return handle(world, local.page!.version) ? undefined : again(local)
      },
    },
    {
      label: 'forgets the failing change',
      run({ follower }, local) {
        follower.failing[number] = 0
        return again(local)
      },
    },
    {
      label: PASS,
      run({ follower }, { retried }) {
        const target = other(number)
        follower.passedOn[target] = Math.max(follower.passedOn[target], retried)
        return { goto: 'forgets the failing change' }
      },
    },
  ]
}

/** Registers a consumer, which begins at the floors of the shards. */
export function registration({ namedFirst }: MoveGuards): MoveProcess {
  const name: MoveStep = {
    label: 'puts the name of the consumer on the shards',
    run: ({ follower }) => void (follower.isNamed = true),
  }
  return [
    ...(namedFirst ? [name] : []),
    {
      label: 'raises the floors to begin there',
      run({ shards, follower }) {
        for (const shard of shards) {
          shard.floor++
          flush(shard)
        }
        follower.since = [shards[0].floor, shards[1].floor]
      },
    },
    ...(namedFirst ? [] : [name]),
    { label: 'begins', run: ({ follower }) => void (follower.beginnings = 1) },
  ]
}

export const handlersFail: Event<MoveWorld> = {
  label: 'handlers fail',
  possible: () => true,
  happen: ({ follower }) => void (follower.isFailing = true),
}

export const handlersWorkAgain: Event<MoveWorld> = {
  label: 'handlers work again',
  possible: ({ follower }) => follower.isFailing,
  happen: ({ follower }) => void (follower.isFailing = false),
}

/** A change of the first state became a dead letter on shard A, and is to be handled again. */
export const letterReplayed: Event<MoveWorld> = {
  label: 'a dead letter is replayed',
  possible: ({ follower }) => follower.places[0] > 0,
  happen: ({ follower }) => void (follower.failing[0] = 10),
}

export const takeover: Event<MoveWorld> = {
  label: 'another process of the consumer takes over',
  possible: ({ follower }) => follower.beginnings > 0,
  happen: ({ follower }) => void follower.takeovers++,
}
