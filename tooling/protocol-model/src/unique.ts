import type { Event, Step } from './explore.ts'

/** Who holds a key of a unique index, and the version of the attempt that took it last. */
export interface Claim {
  entity: number
  stamp: number
}

export interface Entity {
  /** 0 where there has never been one. */
  version: number
  /** Undefined for one that is deleted, or has no such property. */
  key: string | undefined
}

/** Some entities on shards of their own, and a unique index over one property. */
export interface UniqueWorld {
  entities: Entity[]
  claims: Record<string, Claim>
  /**
   * Entity 0 as it is when its shard falls back, because its last commits are on no disk, or on no replica, yet; undefined
   * where nothing can be lost.
   */
  fallback: Entity | undefined
  /** Whether commits of entity 0 can be lost for a while, and whether somebody can see to it that they are not. */
  losing: 'never' | 'until flushed' | 'until replicated'
  /** A statement of the first process that may arrive once more. */
  late: { key: string; entity: number; stamp: number; from?: Claim } | undefined
}

/** What a process remembers between its statements. */
export interface Attempt {
  base: Entity
  version: number
  /** The claim that stands in the way, and its owner as it was read. */
  other: Claim | undefined
  owner: Entity
  tries: number
}

export interface UniqueGuards {
  /** Law 2. */
  readonly compareAndSwap: boolean
  /** Who takes a key that is held looks at its holder first. */
  readonly looksAtOwner: boolean
  /** An attempt of the holder that is under way is ended before its key is taken. */
  readonly fence: boolean
  /** The fence is above the claim's stamp, not above the holder's version alone. */
  readonly fenceAboveStamp: boolean
  /** A claim is taken over only if it is still the one that was seen, stamp included. */
  readonly swapComparesStamp: boolean
  /** Who holds a key already raises the stamp, and never lowers it. */
  readonly keepGreatest: boolean
  /** A claim that its entity has lost is deleted only if it is older than the commit. */
  readonly releaseOlder: boolean
  /** What is seen of the holder is on disk before its key is taken. */
  readonly flush: boolean
  /** Where commits can be lost by a failover, a key is taken from what cannot be lost any more. */
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

/** Entities with these keys, and a claim for each key. */
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

/** The promise: at no instant do two committed entities have one key. */
export function keyTwice({ entities }: UniqueWorld): string | undefined {
  const keys = entities.flatMap(({ key }) => key ?? [])
  const twice = keys.find((key, i) => keys.indexOf(key) < i)
  return twice === undefined ? undefined : `two entities have ${twice}`
}

/** When nothing goes on any more, every key has its claim: the next one who wants it will see that it is taken. */
export function unclaimedKey({ entities, claims }: UniqueWorld): string | undefined {
  const lone = entities.findIndex(({ key }, entity) => key !== undefined && claims[key]?.entity !== entity)
  return lone === -1 ? undefined : `entity ${lone} does not hold the key ${entities[lone]?.key}`
}

export interface PutOptions {
  /** The process's clock is so far ahead. */
  readonly ahead?: number
  /** It keeps the key that it finds: one that gives the claims of an index that is being added. */
  readonly fills?: boolean
  /** How often it begins anew before it gives up. */
  readonly tries?: number
}

/** A write that gives an entity this key, or none. Every statement is a step. */
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
      // The server answers then; if it has died before, the process knows nothing.
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

/** Deletes the claims of an entity for keys that it has not, whatever else goes on. */
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

/** What the first process sent once arrives once more. */
export const lateStatement: Event<UniqueWorld> = {
  label: 'a statement arrives a second time',
  possible: ({ late }) => late !== undefined,
  happen(world) {
    const late = world.late as NonNullable<UniqueWorld['late']>
    if (late.from === undefined) takeClaim(world, late, allUniqueGuards)
    else swapClaim(world, { ...late, from: late.from }, allUniqueGuards)
  },
}

/** The shard of entity 0 loses what nobody has seen to. */
export const fallBack: Event<UniqueWorld> = {
  label: 'the shard of entity 0 falls back',
  possible: ({ fallback }) => fallback !== undefined,
  happen(world) {
    world.entities[0] = world.fallback as Entity
    world.fallback = undefined
  },
}

/** Its replica has got everything. */
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
