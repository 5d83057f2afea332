import type { Check, Checker } from './checks.ts'
import type { KeyCheck } from './key-check.ts'
import type { PromiseCheck } from './promise-check.ts'
import type { World } from './world.ts'

export interface LookOptions {
  readonly world: World
  readonly checker: Checker
  readonly promise: PromiseCheck
  readonly keys: KeyCheck
}

/** What has come to pass so far, besides faults. */
export interface LifeSoFar {
  /** Whether a process has begun while a shard was down. */
  readonly hasBegunWithout: boolean
  /** How often an operator has repaired what failovers had lost. */
  readonly repairs: number
}

/** Holds the tables of rows against the entities, at this instant. */
export function lookAtRows({ world, checker, promise }: LookOptions, soFar: LifeSoFar): void {
  const { happened, failoverOf, onIndexFailure } = world
  const missing = promise.missing().map((row) => `missing ${row}`)
  const names: readonly (Check | false)[] = [
    'no row is missing',
    happened.crash > 0 && 'no row is missing when a process has stopped dead',
    happened.serverCrash > 0 && 'no row is missing when a server has crashed',
    onIndexFailure === 'defer' && 'no row is missing where none but deferred ones may be',
    happened.failover > 0 &&
      failoverOf === 'entities' &&
      'no row is missing when a failover has lost commits of entities',
    soFar.hasBegunWithout && 'no row is missing when a process has begun while a shard was down',
    soFar.repairs > 0 && 'no row is missing when an operator has repaired what a failover has lost',
  ]
  for (const name of names) if (name !== false) checker.check(name, ...missing)
  checker.check('a table is of one definition for ever', ...promise.renamed())
}

/** Holds the keys of unique indexes against their claims, at this instant. */
export function lookAtKeys({ world, checker, keys }: LookOptions): void {
  const { happened, failoverOf, writeOrder } = world
  const { isReady, isBuilding, twice, twiceInBuilding, unheld } = keys.look()
  const names: readonly (Check | false)[] = [
    'no two entities have one key of a unique index',
    happened.crash > 0 && 'no two entities have one key when a process has stopped dead',
    happened.serverCrash > 0 && 'no two entities have one key when a server has crashed',
    happened.failover > 0 &&
      failoverOf === 'entities' &&
      'no two entities have one key when a failover has lost commits of entities',
    writeOrder === 'entity-first' && 'no two entities have one key where rows come after their entities',
  ]
  if (isReady) for (const name of names) if (name !== false) checker.check(name, ...twice)
  if (isBuilding) {
    checker.check(
      'no two entities that had to claim it have one key while the claims are building',
      ...twiceInBuilding,
    )
  }
  if (isReady || isBuilding) checker.check('whoever is committed with a key holds it', ...unheld)
}
