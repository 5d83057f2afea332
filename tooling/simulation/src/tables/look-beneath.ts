import type { Check, Checker } from '../checks.ts'
import type { KeyCheck } from './key-check.ts'
import type { PromiseCheck } from './promise-check.ts'
import type { World } from '../world/world.ts'

export interface LookOptions {
  readonly world: World
  readonly checker: Checker
  readonly promise: PromiseCheck
  readonly keys: KeyCheck
}

/** Events of a life so far, other than faults. */
export interface LifeSoFar {
  /** Whether a process started while a shard was down. */
  readonly hasBegunWithout: boolean
  /** How often an operator has repaired failovers that lost rows. */
  readonly repairs: number
}

/** Compares the index tables with the entities, at this instant. */
export function lookAtRows({ world, checker, promise }: LookOptions, soFar: LifeSoFar): void {
  const { happened, failoverOf, onIndexFailure } = world
  const missing = promise.missing().map((row) => `missing ${row}`)
  const names: readonly (Check | false)[] = [
    'no row is missing',
    happened.crash > 0 && 'no row is missing after a process crash',
    happened.serverCrash > 0 && 'no row is missing after a server crash',
    onIndexFailure === 'defer' && 'no row is missing except deferred ones',
    happened.failover > 0 &&
      failoverOf === 'entities' &&
      'no row is missing after a failover that loses commits of entities',
    soFar.hasBegunWithout && 'no row is missing after a process has started while a shard was down',
    soFar.repairs > 0 && 'no row is missing after an operator has repaired a failover that lost rows',
  ]
  for (const name of names) if (name !== false) checker.check(name, ...missing)
  checker.check('a table never changes its definition', ...promise.renamed())
}

/** Compares the keys of unique indexes with their claims, at this instant. */
export function lookAtKeys({ world, checker, keys }: LookOptions): void {
  const { happened, failoverOf, writeOrder } = world
  const { isReady, isBuilding, twice, twiceInBuilding, unheld } = keys.look()
  const names: readonly (Check | false)[] = [
    'no two entities share a key of a unique index',
    happened.crash > 0 && 'no two entities share a key after a process crash',
    happened.serverCrash > 0 && 'no two entities share a key after a server crash',
    happened.failover > 0 &&
      failoverOf === 'entities' &&
      'no two entities share a key after a failover that loses commits of entities',
    writeOrder === 'entity-first' && 'no two entities share a key if rows are written after their entities',
  ]
  if (isReady) for (const name of names) if (name !== false) checker.check(name, ...twice)
  if (isBuilding) {
    checker.check(
      'no two entities that had to claim a key share it while claims are building',
      ...twiceInBuilding,
    )
  }
  if (isReady || isBuilding)
    checker.check('an entity that is committed with a key holds its claim', ...unheld)
}
