import type { StepResult } from '../explore.ts'
import { changeServes, flush, knownOf, noMoveMemory, other } from './bucket.ts'
import type { Known, MoveMemory, MoveProcess, MoveStep, MoveWorld, ShardNumber } from './bucket.ts'
import type { MoveGuards } from './guards.ts'

/** The owner by what a process knows, or the shard that has to begin before there is one. */
export type Route =
  | { readonly owner: ShardNumber }
  | { readonly target: ShardNumber; readonly source: ShardNumber }

/**
 * Finds the owner by catalog rows that were read at different moments: the shard that owns the bucket; of two,
 * the one with the later arrival; if there is none, the target of the latest shard that gave the bucket up.
 */
export function routeOf([a, b]: readonly [Known, Known], { laterArrivalOwns }: MoveGuards): Route {
  if (a.is === 'owner' && b.is === 'owner')
    return { owner: laterArrivalOwns && b.arrival > a.arrival ? 1 : 0 }
  if (a.is === 'owner') return { owner: 0 }
  if (b.is === 'owner') return { owner: 1 }
  const isAway = (known: Known): boolean => known.is === 'away' || known.is === 'emptied'
  const source = isAway(a) && (!isAway(b) || a.attempt > b.attempt) ? 0 : 1
  return { source, target: other(source) }
}

/**
 * Reads the catalog rows again, one after the other, and goes on. A shard that is down keeps what was known of
 * it.
 */
export function readCatalogs(then: string): MoveProcess {
  const read = ({ shards }: MoveWorld, local: MoveMemory, number: ShardNumber): void => {
    const shard = shards[number]
    if (!shard.isDown) local.known[number] = knownOf(shard)
  }
  return [
    {
      label: 'reads the catalog of shard A',
      run(world, local) {
        const { known, least, tries, purged } = local
        Object.assign(local, noMoveMemory(), { known, least, tries, purged })
        read(world, local, 0)
      },
    },
    {
      label: 'reads the catalog of shard B',
      run(world, local) {
        read(world, local, 1)
        return { goto: then }
      },
    },
  ]
}

export const RELOAD: StepResult = { goto: 'reads the catalog of shard A' }

const MAKE_SURE = 'sees to it that the commit is on disk'
const TAKE = 'takes a time from the target'
const BEGIN = 'begins the target'

/** Waits until a catalog row that the process knows has changed. */
export function untilChanged({ shards }: MoveWorld, { known }: MoveMemory): StepResult {
  const isChanged = shards.some((shard, i) => !shard.isDown && shard.epoch !== known[i]!.epoch)
  return isChanged ? RELOAD : 'blocked'
}

/**
 * Runs a statement at the owner, or does first what keeps it from having one: begins the target, or waits. A
 * write breaks a seal.
 */
export function atOwner(
  label: string,
  guards: MoveGuards,
  { isWrite }: { readonly isWrite: boolean },
  run: (world: MoveWorld, local: MoveMemory, owner: ShardNumber, process: number) => StepResult,
): MoveStep {
  return {
    label,
    run(world, local, process) {
      const route = routeOf(local.known, guards)
      if ('owner' in route) {
        if (world.shards[route.owner].isDown) return untilChanged(world, local)
        if (!isWrite || !local.known[route.owner].sealed) return run(world, local, route.owner, process)
        const change = untilChanged(world, local)
        return change === 'blocked' && guards.writersBreakSeals ? { goto: 'breaks the seal' } : change
      }
      const [source, target] = [local.known[route.source], local.known[route.target]]
      const mayBegin = target.is === 'coming' && target.attempt === source.attempt
      if (!mayBegin || !guards.anybodyBegins) return untilChanged(world, local)
      return { goto: guards.beginsAfterFlush ? MAKE_SURE : TAKE }
    },
  }
}

/** The steps to which `atOwner` leads. Each ends with another look at the catalogs. */
export function helpFinish(guards: MoveGuards): MoveProcess {
  const routed = ({ known }: MoveMemory): Extract<Route, { target: ShardNumber }> | undefined => {
    const route = routeOf(known, guards)
    return 'target' in route ? route : undefined
  }
  const makeSure: MoveProcess = [
    {
      label: MAKE_SURE,
      run({ shards }, local) {
        const route = routed(local)
        if (route !== undefined) flush(shards[route.source])
      },
    },
    {
      label: 'looks at the source again',
      run({ shards }, local) {
        const route = routed(local)
        if (route === undefined || shards[route.source].epoch !== local.known[route.source].epoch)
          return RELOAD
        return undefined
      },
    },
  ]
  return [
    {
      label: 'breaks the seal',
      run({ shards }, { known }) {
        for (const [i, shard] of shards.entries())
          if (known[i]!.sealed && shard.epoch === known[i]!.epoch) changeServes(shard, { sealed: false })
        return RELOAD
      },
    },
    ...(guards.beginsAfterFlush ? makeSure : []),
    ...timeOnDisk(guards, {
      labels: [TAKE, 'raises the floor of the target'],
      shardOf: (local) => routed(local)?.target,
      take: (local, time) => void (local.until = time + 1),
    }),
    {
      label: BEGIN,
      run({ shards }, local) {
        const route = routed(local)
        if (route === undefined) return RELOAD
        const target = shards[route.target]
        if (target.epoch === local.known[route.target].epoch)
          begin(target, local.known[route.source].end, local.until)
        return RELOAD
      },
    },
  ]
}

interface TimeTaken {
  readonly labels: readonly [string, string]
  /** Undefined if the process has nothing to begin any more. */
  readonly shardOf: (local: MoveMemory) => ShardNumber | undefined
  readonly take: (local: MoveMemory, time: number) => void
}

/**
 * Takes the floor of a shard as a time, and raises the floor above it. The raise has both on disk, unless a crash came before it: the floor
 * that was read may be of a raise that the crash has undone.
 */
export function timeOnDisk(
  { beginIsOnDisk }: MoveGuards,
  { labels: [takes, raises], shardOf, take }: TimeTaken,
): MoveProcess {
  return [
    {
      label: takes,
      run({ shards }, local) {
        const number = shardOf(local)
        if (number === undefined) return RELOAD
        const { floor, restarts } = shards[number]
        local.restarts = restarts
        take(local, floor)
        return undefined
      },
    },
    {
      label: raises,
      run({ shards }, local) {
        const number = shardOf(local)
        if (number === undefined) return RELOAD
        const shard = shards[number]
        if (beginIsOnDisk && shard.restarts !== local.restarts) return { goto: takes }
        shard.floor++
        flush(shard)
        return undefined
      },
    },
  ]
}

/** Changes a shard to which the bucket is coming into its owner. Copies are before `begin`, and its writes are not. */
export function begin(target: MoveWorld['shards'][number], end: number, from: number): void {
  const { attempt } = target.serves
  changeServes(target, { is: 'owner', arrival: attempt, attempt: 0, sourceEnd: end, begin: from })
  flush(target)
}
