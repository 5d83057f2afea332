import type { StepResult } from '../explore.ts'
import {
  put,
  type Attempt,
  type UniqueGuards,
  type UniqueProcess,
  type UniqueStep,
  type UniqueWorld,
} from '../unique.ts'

/** Guards of claims that are taken in the transaction of their entity. The tests turn each off to show what breaks. */
export interface LocalClaimGuards {
  /** The transaction writes the claim and then reads who holds it, under the lock of its row. */
  readonly holderIsReadUnderLock: boolean
  /** A claim of another entity ends the transaction; the claim is then taken by the statements of far claims. */
  readonly foreignClaimsEnd: boolean
  /** A claim that the entity holds already gets the stamp of the attempt. */
  readonly ownClaimsAreRaised: boolean
  /** Every prefix is right by itself, if a pooler splits the transaction: claims stand before the swap. */
  readonly claimsStandBeforeSwap: boolean
  /** A claim is released only if the swap took place. */
  readonly releasesAreForWinners: boolean
  /** It is released only if it is the entity's own, and older than the commit. */
  readonly releasesCompareStamps: boolean
  /** A batch takes a claim from its other item only if that item gives the key up in it. */
  readonly batchesTakeWhatIsGivenUp: boolean
}

export const allLocalClaimGuards: LocalClaimGuards = {
  holderIsReadUnderLock: true,
  foreignClaimsEnd: true,
  ownClaimsAreRaised: true,
  claimsStandBeforeSwap: true,
  releasesAreForWinners: true,
  releasesCompareStamps: true,
  batchesTakeWhatIsGivenUp: true,
}

const nextVersion = (base: number, process: number): number => (Math.floor(base / 10) + 1) * 10 + process

function release(
  { claims }: UniqueWorld,
  key: string | undefined,
  entity: number,
  version: number,
  guards: LocalClaimGuards,
): void {
  if (key === undefined) return
  const claim = claims[key]
  const isOwn = claim?.entity === entity && claim.stamp < version
  if (isOwn || !guards.releasesCompareStamps) delete claims[key]
}

/** Takes a claim that is free or the entity's own. */
function take(
  { claims }: UniqueWorld,
  key: string,
  entity: number,
  stamp: number,
  guards: LocalClaimGuards,
): void {
  const claim = claims[key]
  if (claim === undefined) claims[key] = { entity, stamp }
  else if (guards.ownClaimsAreRaised) claims[key] = { entity, stamp: Math.max(claim.stamp, stamp) }
}

export interface LocalPutOptions {
  /** A pooler makes each statement of the transaction a transaction of its own. */
  readonly isSplit?: boolean
}

/** One write that gives an entity this key, or none, with its claim in the same transaction. */
export function localPut(
  entity: number,
  key: string | undefined,
  far: UniqueGuards,
  guards: LocalClaimGuards,
  { isSplit = false }: LocalPutOptions = {},
): UniqueProcess {
  const isForeign = ({ claims }: UniqueWorld): boolean =>
    key !== undefined && claims[key] !== undefined && claims[key].entity !== entity
  const needsClaim = ({ base }: Attempt): boolean => key !== undefined && key !== base.key
  const again = (attempt: Attempt): StepResult =>
    ++attempt.tries > 2 ? 'end' : { goto: 'reads the entity for a local write' }
  const givesUp = ({ base, version }: Attempt, world: UniqueWorld): void => {
    if (base.key !== key) release(world, base.key, entity, version, guards)
  }
  const reads: UniqueStep = {
    label: 'reads the entity for a local write',
    run(world, attempt, process) {
      attempt.base = world.entities[entity]!
      attempt.version = nextVersion(attempt.base.version, process)
      attempt.other = isForeign(world) ? world.claims[key!] : undefined
    },
  }
  const swap = (world: UniqueWorld, { base, version }: Attempt): boolean => {
    if (world.entities[entity]!.version !== base.version) return false
    world.entities[entity] = { version, key }
    return true
  }
  const commits: UniqueStep = {
    label: 'commits with its claim',
    run(world, attempt) {
      const foreign = guards.holderIsReadUnderLock ? isForeign(world) : attempt.other !== undefined
      if (needsClaim(attempt) && foreign && guards.foreignClaimsEnd) return { goto: 'takes the key' }
      const isWon = swap(world, attempt)
      if (isWon && needsClaim(attempt) && !isForeign(world))
        take(world, key!, entity, attempt.version, guards)
      if (isWon || !guards.releasesAreForWinners) givesUp(attempt, world)
      return isWon ? 'end' : again(attempt)
    },
  }
  const claims: UniqueStep = {
    label: 'claims',
    run(world, attempt) {
      if (!needsClaim(attempt)) return undefined
      if (isForeign(world)) return { goto: 'takes the key' }
      take(world, key!, entity, attempt.version, guards)
      return undefined
    },
  }
  const swaps: UniqueStep = {
    label: 'swaps',
    run: (world, attempt) => (swap(world, attempt) ? undefined : again(attempt)),
  }
  const releases: UniqueStep = {
    label: 'releases',
    run(world, attempt) {
      givesUp(attempt, world)
      return 'end'
    },
  }
  const split = guards.claimsStandBeforeSwap ? [claims, swaps, releases] : [swaps, claims, releases]
  return [reads, ...(isSplit ? split : [commits]), ...put(entity, key, far, { tries: 2 })]
}

/** A batch that gives two entities these keys, with their claims, in one transaction. */
export function localExchange(
  entities: readonly [number, number],
  keys: readonly [string | undefined, string | undefined],
  guards: LocalClaimGuards,
): UniqueProcess {
  const [first, second] = entities
  return [
    {
      label: 'reads both entities',
      run(world, attempt) {
        Object.assign(attempt, { base: world.entities[first]!, owner: world.entities[second]! })
      },
    },
    {
      label: 'commits both with their claims',
      run(world, attempt, process) {
        const bases = [attempt.base, attempt.owner]
        const isLost = entities.some(
          (entity, item) => world.entities[entity]!.version !== bases[item]!.version,
        )
        const again = (): StepResult => (++attempt.tries > 2 ? 'end' : { goto: 'reads both entities' })
        if (isLost) return again()
        const isTaken = entities.some((entity, item) => {
          const key = keys[item]
          const holder = key === undefined ? undefined : world.claims[key]?.entity
          if (holder === undefined || holder === entity) return false
          const isGivenUp = bases[1 - item]!.key === key && keys[1 - item] !== key
          return holder !== entities[1 - item] || (!isGivenUp && guards.batchesTakeWhatIsGivenUp)
        })
        if (isTaken) return again()
        const version = nextVersion(Math.max(...bases.map((base) => base.version)), process)
        for (const [item, entity] of entities.entries())
          if (bases[item]!.key !== keys[item]) release(world, bases[item]!.key, entity, version, guards)
        for (const [item, entity] of entities.entries()) {
          const key = keys[item]
          if (key !== undefined) world.claims[key] = { entity, stamp: version }
          world.entities[entity] = { version, key }
        }
        return 'end'
      },
    },
  ]
}

/** Runs writes one after the other. */
export function inTurn(...writes: readonly UniqueProcess[]): UniqueProcess {
  return writes.flatMap((steps, turn) =>
    steps.map(({ label, run }) => ({
      label: `${label} (${turn})`,
      run(world: UniqueWorld, attempt: Attempt, process: number): StepResult {
        const result = run(world, attempt, process)
        const next = writes[turn + 1]?.[0]
        if (typeof result === 'object') return { goto: `${result.goto} (${turn})` }
        if (next === undefined) return result
        const isLast = label === steps.at(-1)!.label
        if (result === 'end' || (result === undefined && isLast)) {
          attempt.tries = 0
          return { goto: `${next.label} (${turn + 1})` }
        }
        return result
      },
    })),
  )
}
