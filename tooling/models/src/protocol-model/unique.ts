import type { Event, Step } from './explore.ts'

/** Holder of a key of a unique index, and the version of the attempt that took it last. */
export interface Claim {
  entity: number
  stamp: number
}

export interface Entity {
  /** 0 if the entity never existed. */
  version: number
  /** Undefined for a deleted entity, or one without the property. */
  key: string | undefined
}

/** Entities on shards of their own, and a unique index over one property. */
export interface UniqueWorld {
  entities: Entity[]
  claims: Record<string, Claim>
  /**
   * State of entity 0 after its shard falls back, because its last commits are not yet on a disk or a
   * replica; undefined if nothing can be undone.
   */
  fallback: Entity | undefined
  /** Whether commits of entity 0 can be undone, and by what a process can prevent it. */
  losing: 'never' | 'until flushed' | 'until replicated'
  /** A statement of the first process that may arrive a second time. */
  late: { key: string; entity: number; stamp: number; from?: Claim } | undefined
}

/** Variables of an attempt between its statements. */
export interface Attempt {
  base: Entity
  version: number
  /** The conflicting claim, and its owner as read. */
  other: Claim | undefined
  owner: Entity
  tries: number
}

export interface UniqueGuards {
  /** Law 2. */
  readonly compareAndSwap: boolean
  /** A process that finds a key taken reads the holder first. */
  readonly looksAtOwner: boolean
  /** An attempt of the holder that is in flight is fenced off before its key is taken. */
  readonly fence: boolean
  /** The fence is above the claim's stamp, not only above the holder's version. */
  readonly fenceAboveStamp: boolean
  /** A takeover succeeds only if the claim is unchanged since it was read, including its stamp. */
  readonly swapComparesStamp: boolean
  /** A holder that takes its key again raises the stamp and never lowers it. */
  readonly keepGreatest: boolean
  /** A claim for a former key is deleted only if it is older than the commit. */
  readonly releaseOlder: boolean
  /** The holder's state that was read is flushed before its key is taken. */
  readonly flush: boolean
  /** If a failover can undo commits, a key is taken only on account of commits that are on the replica. */
  readonly waitsForReplicas: boolean
}

export const allUniqueGuards: UniqueGuards = {
  compareAndSwap: true,
  looksAtOwner: true,
  fence: true,
  fenceAboveStamp: true,
  swapComparesStamp: true,
  keepGreatest: true,
  releaseOlder: true,
  flush: true,
  waitsForReplicas: true,
}

export type UniqueStep = Step<UniqueWorld, Attempt>
export type UniqueProcess = readonly UniqueStep[]

/** Returns entities with these keys, and a claim for each key. */
export function uniqueWorld(
  keys: readonly (string | undefined)[],
  change: Partial<UniqueWorld> = {},
): UniqueWorld {
  const claims = keys.flatMap((key, entity): [string, Claim][] =>
    key === undefined ? [] : [[key, { entity, stamp: 10 }]],
  )
  return {
    entities: keys.map((key) => ({ version: key === undefined ? 0 : 10, key })),
    claims: Object.fromEntries(claims),
    fallback: undefined,
    losing: 'never',
    late: undefined,
    ...change,
  }
}

export function noAttempt(): Attempt {
  const nothing = { version: 0, key: undefined }
  return { base: nothing, version: 0, other: undefined, owner: nothing, tries: 0 }
}

/** Checks the promise: no two committed entities share a key at any instant. */
export function keyTwice({ entities }: UniqueWorld): string | undefined {
  const keys = entities.flatMap(({ key }) => key ?? [])
  const twice = keys.find((key, i) => keys.indexOf(key) < i)
  return twice === undefined ? undefined : `two entities have ${twice}`
}

/**
 * Checks at rest that every key has its claim, so that the next process that wants the key finds it taken.
 */
export function unclaimedKey({ entities, claims }: UniqueWorld): string | undefined {
  const lone = entities.findIndex(({ key }, entity) => key !== undefined && claims[key]?.entity !== entity)
  return lone === -1 ? undefined : `entity ${lone} does not hold the key ${entities[lone]?.key}`
}

export interface PutOptions {
  /** Offset by which the process's clock is ahead. */
  readonly ahead?: number
  /** Keeps the key that it finds, as a filling that writes the claims of a new index does. */
  readonly fills?: boolean
  /** Number of restarts before it gives up. */
  readonly tries?: number
}

/** One write that gives an entity this key, or none. Every statement is a step. */
export function put(
  entity: number,
  key: string | undefined,
  guards: UniqueGuards,
  { ahead = 0, fills = false, tries = 1 }: PutOptions = {},
): UniqueProcess {
  const wanted = (attempt: Attempt): string | undefined => (fills ? attempt.base.key : key)
  const next = (above: number, process: number): number =>
    (Math.max(Math.floor(above / 10), ahead) + 1) * 10 + process
  const again = (attempt: Attempt, label: string): { goto: string } | 'end' =>
    ++attempt.tries > tries ? 'end' : { goto: label }
  const write = (world: UniqueWorld, which: number, now: Entity): void => {
    if (which === 0 && world.losing !== 'never') world.fallback ??= entityOf(world, 0)
    world.entities[which] = now
  }

  const read: UniqueStep = {
    label: `reads entity ${entity}`,
    run(world, attempt, process) {
      attempt.base = entityOf(world, entity)
      attempt.version = fills ? attempt.base.version : next(attempt.base.version, process)
      if (fills && attempt.base.key === undefined) return 'end'
      const hasItAlready = !fills && (key === undefined || key === attempt.base.key)
      return hasItAlready ? { goto: 'commits' } : undefined
    },
  }
  const take: UniqueStep = {
    label: 'takes the key',
    run(world, attempt, process) {
      const own = { key: wanted(attempt) as string, entity, stamp: attempt.version }
      if (process === 0) world.late ??= own
      takeClaim(world, own, guards)
      const claim = world.claims[own.key] as Claim
      const isHeld = claim.entity === entity && (claim.stamp >= attempt.version || !guards.keepGreatest)
      if (isHeld) return fills ? 'end' : { goto: 'commits' }
      attempt.other = { ...claim }
      return undefined
    },
  }
  const look: UniqueStep = {
    label: 'looks at the holder',
    run(world, attempt) {
      const { entity: holder, stamp } = attempt.other as Claim
      attempt.owner = entityOf(world, holder)
      if (guards.looksAtOwner && attempt.owner.key === wanted(attempt)) return 'end'
      return stamp > attempt.owner.version ? undefined : { goto: 'sees to it that this is on disk' }
    },
  }
  const fence: UniqueStep = {
    label: 'fences the holder',
    run(world, attempt, process) {
      if (!guards.fence) return { goto: 'takes it over' }
      const { entity: holder, stamp } = attempt.other as Claim
      const { version, key: kept } = attempt.owner
      if (entityOf(world, holder).version !== version) return again(attempt, 'takes the key')
      const above = guards.fenceAboveStamp ? Math.max(version, stamp) : version
      const isLow = !guards.fenceAboveStamp
      write(world, holder, { version: isLow ? above + 1 + process : next(above, process), key: kept })
      if (world.losing === 'until flushed') world.fallback = undefined
      attempt.owner = entityOf(world, holder)
      return world.losing === 'until replicated' && guards.waitsForReplicas
        ? { goto: 'waits for replicas' }
        : { goto: 'takes it over' }
    },
  }
  const flush: UniqueStep = {
    label: 'sees to it that this is on disk',
    run(world, attempt) {
      if (world.losing === 'until flushed' && guards.flush) world.fallback = undefined
      const now = entityOf(world, (attempt.other as Claim).entity)
      if (guards.flush && now.version !== attempt.owner.version) return again(attempt, 'takes the key')
      return undefined
    },
  }
  const wait: UniqueStep = {
    label: 'waits for replicas',
    run(world, attempt) {
      if (!guards.waitsForReplicas || world.losing !== 'until replicated') return undefined
      if (world.fallback !== undefined) return 'blocked'
      const now = entityOf(world, (attempt.other as Claim).entity)
      return now.version === attempt.owner.version ? undefined : again(attempt, 'takes the key')
    },
  }
  const swap: UniqueStep = {
    label: 'takes it over',
    run(world, attempt, process) {
      const own = { key: wanted(attempt) as string, entity, stamp: attempt.version }
      const from = attempt.other as Claim
      if (process === 0) world.late = { ...own, from }
      if (!swapClaim(world, { ...own, from }, guards)) return again(attempt, 'takes the key')
      return fills ? 'end' : undefined
    },
  }
  const commit: UniqueStep = {
    label: 'commits',
    run(world, attempt) {
      const { version } = entityOf(world, entity)
      if (guards.compareAndSwap && version !== attempt.base.version) {
        return again(attempt, `reads entity ${entity}`)
      }
      write(world, entity, { version: attempt.version, key })
      return undefined
    },
  }
  const hear: UniqueStep = {
    label: 'hears that it is on disk',
    run(world, attempt) {
      // A flush succeeds on a living server; after a crash the process knows nothing.
      if (entity !== 0 || world.losing !== 'until flushed') return undefined
      if (world.entities[0]?.version !== attempt.version && world.fallback === undefined) return 'end'
      world.fallback = undefined
      return undefined
    },
  }
  const release: UniqueStep = {
    label: 'releases what it has lost',
    run(world, { base, version }) {
      if (base.key === undefined || base.key === key || world.losing === 'until replicated') return
      removeClaim(world, base.key, entity, guards.releaseOlder ? version : Infinity)
    },
  }
  return [read, take, look, fence, flush, wait, swap, commit, hear, release]
}

/** Deletes claims of an entity for keys that it does not have, under load. */
export function claimCleaner(entity: number, keys: readonly string[], guards: UniqueGuards): UniqueProcess {
  return [
    {
      label: `a cleaner reads entity ${entity}`,
      run(world, attempt) {
        attempt.base = entityOf(world, entity)
      },
    },
    ...keys.map((key): UniqueStep => ({
      label: `a cleaner releases ${key}`,
      run(world, { base }) {
        if (base.key === key || world.losing !== 'never') return
        removeClaim(world, key, entity, guards.releaseOlder ? base.version + 1 : Infinity)
      },
    })),
  ]
}

/** A statement of the first process arrives a second time. */
export const lateStatement: Event<UniqueWorld> = {
  label: 'a statement arrives a second time',
  possible: ({ late }) => late !== undefined,
  happen(world) {
    const late = world.late as NonNullable<UniqueWorld['late']>
    if (late.from === undefined) takeClaim(world, late, allUniqueGuards)
    else swapClaim(world, { ...late, from: late.from }, allUniqueGuards)
  },
}

/** The shard of entity 0 falls back, unless a process has secured the commits. */
export const fallBack: Event<UniqueWorld> = {
  label: 'the shard of entity 0 falls back',
  possible: ({ fallback }) => fallback !== undefined,
  happen(world) {
    world.entities[0] = world.fallback as Entity
    world.fallback = undefined
  },
}

/** The replica has received everything. */
export const replicate: Event<UniqueWorld> = {
  label: 'the replica of entity 0 catches up',
  possible: ({ fallback, losing }) => fallback !== undefined && losing === 'until replicated',
  happen(world) {
    world.fallback = undefined
  },
}

function entityOf({ entities }: UniqueWorld, entity: number): Entity {
  return entities[entity] as Entity
}

function takeClaim(
  { claims }: UniqueWorld,
  { key, entity, stamp }: { key: string; entity: number; stamp: number },
  { keepGreatest }: UniqueGuards,
): void {
  const claim = claims[key]
  if (claim === undefined) claims[key] = { entity, stamp }
  else if (claim.entity === entity) claim.stamp = keepGreatest ? Math.max(claim.stamp, stamp) : stamp
}

function swapClaim(
  { claims }: UniqueWorld,
  { key, entity, stamp, from }: { key: string; entity: number; stamp: number; from: Claim },
  { swapComparesStamp }: UniqueGuards,
): boolean {
  const claim = claims[key]
  if (claim?.entity !== from.entity || (swapComparesStamp && claim.stamp !== from.stamp)) return false
  claims[key] = { entity, stamp }
  return true
}

function removeClaim({ claims }: UniqueWorld, key: string, entity: number, before: number): void {
  const claim = claims[key]
  if (claim?.entity === entity && claim.stamp < before) delete claims[key]
}
