import type { Event, Step, StepResult } from '../explore.ts'

export type Place = 0 | 1

/** Phases of a bucket of claims that moves from place A to place B; an undo leads back to A. */
export const CLAIM_PHASES = ['before', 'both', 'target', 'after', 'undoing', 'undone'] as const

export type ClaimPhase = (typeof CLAIM_PHASES)[number]

/** Places at which claims are taken and released, in this order. */
const PLACES: Readonly<Record<ClaimPhase, readonly Place[]>> = {
  before: [0],
  both: [0, 1],
  target: [0, 1],
  after: [1],
  undoing: [0, 1],
  undone: [0],
}

/** The holder of the key and the version of the attempt that took it. */
interface PlacedClaim {
  readonly entity: number
  readonly stamp: number
}

/** An entity either has the key or not. Its version is 0 before it exists. */
interface KeyedEntity {
  version: number
  hasKey: boolean
}

interface ClaimCatalog {
  epoch: number
  phase: ClaimPhase
}

/** Entities that want one key of a unique index. Entity 0 is on shard 0, the others are on shard 1. */
export interface ClaimWorld {
  /** Catalogs of the shards of entities. The first one leads, the other one copies it. */
  readonly catalogs: [ClaimCatalog, ClaimCatalog]
  readonly entities: KeyedEntity[]
  /** The claim of each place; null for none. */
  readonly claims: [PlacedClaim | null, PlacedClaim | null]
  /** Epoch of the leading catalog whose claims were filled; 0 for none. */
  filled: number
  /** Row of entity 0 at a shard that it has left; null while it is where it was. */
  leftBehind: KeyedEntity | null
  wrong: string | undefined
}

export interface ClaimMemory {
  known: ClaimCatalog
  base: number
  old: boolean
  version: number
  place: number
  other: PlacedClaim | null
  otherVersion: number
  tries: number
}

/** Guards of the move of claims. The tests turn each off to show what breaks. */
export interface ClaimGuards {
  /** The target is filled only when every shard fences writers that claim at the source alone. */
  readonly allClaimTwiceBeforeFilling: boolean
  /** The commit compares the epoch of the entity's shard. */
  readonly commitsAreFenced: boolean
  /** Claims of committed entities are taken at the target before it decides alone. */
  readonly targetIsFilled: boolean
  /** A filling takes a dead claim at the target over. */
  readonly fillingTakesOver: boolean
  /** No writer claims at the target alone while another one may claim at the source alone. */
  readonly phasesAreAdjacent: boolean
  /** A commit needs the claims at both places. */
  readonly bothAreTaken: boolean
  /** A claim of another entity refuses only if that one is committed with the key. */
  readonly holderIsRead: boolean
  /** It is read at the owner of the holder. */
  readonly holderIsReadAtOwner: boolean
  /** An attempt of the holder that may still commit is fenced off above the stamp of its claim. */
  readonly holderIsFenced: boolean
  /** A claim is taken over by comparing entity and stamp. */
  readonly swapsCompareStamps: boolean
  /** At both places a release deletes only a claim that is older than its commit. */
  readonly releasesCompareStamps: boolean
}

export const allClaimGuards: ClaimGuards = {
  allClaimTwiceBeforeFilling: true,
  commitsAreFenced: true,
  targetIsFilled: true,
  fillingTakesOver: true,
  phasesAreAdjacent: true,
  bothAreTaken: true,
  holderIsRead: true,
  holderIsReadAtOwner: true,
  holderIsFenced: true,
  swapsCompareStamps: true,
  releasesCompareStamps: true,
}

type ClaimStep = Step<ClaimWorld, ClaimMemory>
export type ClaimProcess = readonly ClaimStep[]

export interface ClaimWorldOptions {
  /** Entities that exist, by number, and whether they have the key. */
  readonly entities?: readonly (boolean | undefined)[]
  readonly claims?: readonly [PlacedClaim | null, PlacedClaim | null]
  readonly phase?: ClaimPhase
  readonly isFilled?: boolean
}

export function claimWorld({
  entities = [undefined, undefined],
  claims = [null, null],
  phase = 'before',
  isFilled = false,
}: ClaimWorldOptions = {}): ClaimWorld {
  return {
    catalogs: [
      { epoch: 1, phase },
      { epoch: 1, phase },
    ],
    entities: entities.map((hasKey) => ({ version: hasKey === undefined ? 0 : 10, hasKey: hasKey === true })),
    claims: [...claims],
    filled: isFilled ? 1 : 0,
    leftBehind: null,
    wrong: undefined,
  }
}

/** Variables of a process that knows the catalog of the beginning. */
export const claimMemoryOf = ({ catalogs: [leading] }: ClaimWorld): ClaimMemory => ({
  known: leading,
  base: 0,
  old: false,
  version: 0,
  place: 0,
  other: null,
  otherVersion: 0,
  tries: 0,
})

/** Returns a broken promise: two entities have the key, or a process was wrongly refused. */
export function brokenClaim({ entities, wrong }: ClaimWorld): string | undefined {
  if (wrong !== undefined) return wrong
  return entities.filter(({ hasKey }) => hasKey).length > 1 ? 'two entities have one key' : undefined
}

/** Checks at rest that the entity with the key has its claim wherever a next writer would look. */
export function unclaimedAtPlace({ catalogs, entities, claims }: ClaimWorld): string | undefined {
  const holder = entities.findIndex(({ hasKey }) => hasKey)
  if (holder === -1) return undefined
  const isEverywhere = catalogs.every(({ phase }) => ['target', 'after'].includes(phase))
  const places: readonly Place[] = isEverywhere ? [1] : [0]
  const lacking = places.find((place) => claims[place]?.entity !== holder)
  return lacking === undefined ? undefined : `the holder has no claim at place ${'AB'[lacking]}`
}

const nextVersion = (base: number, process: number): number => (Math.floor(base / 10) + 1) * 10 + process + 1

const shardOf = (entity: number): 0 | 1 => (entity === 0 ? 0 : 1)

export interface ClaimerOptions {
  /** Restarts after a conflict. Default: 1. */
  readonly tries?: number
  /** Order in which it releases the claims. Default: as they are taken. */
  readonly releases?: 'in order' | 'in reverse'
}

/** Writes an entity with the key, or without it. */
export function claimer(
  entity: number,
  wants: boolean,
  guards: ClaimGuards,
  { tries = 1, releases = 'in order' }: ClaimerOptions = {},
): ClaimProcess {
  const places = ({ known }: ClaimMemory): readonly Place[] => {
    const all = PLACES[known.phase]
    return guards.bothAreTaken ? all : all.slice(-1)
  }
  const again = (local: ClaimMemory, label: string): StepResult => {
    Object.assign(local, { other: null, otherVersion: 0 })
    return local.tries++ < tries ? { goto: label } : 'end'
  }
  const taken = (local: ClaimMemory): StepResult => {
    Object.assign(local, { other: null, otherVersion: 0, place: local.place + 1 })
    return { goto: local.place < places(local).length ? 'takes the claim' : 'commits' }
  }
  return [
    {
      label: 'reads the entity',
      run(world, local, process) {
        const { version: base, hasKey: old } = world.entities[entity]!
        Object.assign(local, { base, old, version: nextVersion(base, process), place: 0 })
        return wants && !old ? undefined : { goto: 'commits' }
      },
    },
    {
      label: 'takes the claim',
      run({ claims }, local) {
        const place = places(local)[local.place]!
        const claim = claims[place]
        if (claim === null || claim.entity === entity) {
          claims[place] = { entity, stamp: Math.max(claim?.stamp ?? 0, local.version) }
          return taken(local)
        }
        local.other = claim
        return undefined
      },
    },
    {
      label: 'reads the holder',
      run(world, local) {
        const { entity: holder, stamp } = local.other!
        const now = world.entities[holder]!
        const isMoved = holder === 0 && world.leftBehind !== null && !guards.holderIsReadAtOwner
        const seen = isMoved ? world.leftBehind! : now
        if (seen.hasKey || !guards.holderIsRead) {
          if (!now.hasKey) world.wrong = 'a claim of an entity without the key refuses another one'
          return 'end'
        }
        local.otherVersion = now.version
        return stamp > now.version && guards.holderIsFenced ? undefined : { goto: 'takes the claim over' }
      },
    },
    {
      label: 'fences the holder off',
      run({ entities }, local, process) {
        const { entity: holder, stamp } = local.other!
        const row = entities[holder]!
        if (row.version !== local.otherVersion) return again(local, 'takes the claim')
        row.version = nextVersion(Math.max(row.version, stamp), process)
        return undefined
      },
    },
    {
      label: 'takes the claim over',
      run({ claims }, local) {
        const place = places(local)[local.place]!
        if (!isClaim(claims[place], local.other!, guards)) return again(local, 'takes the claim')
        claims[place] = { entity, stamp: local.version }
        return taken(local)
      },
    },
    {
      label: 'commits',
      run(world, local) {
        if (guards.commitsAreFenced && world.catalogs[shardOf(entity)].epoch !== local.known.epoch)
          return { goto: 'reads the catalog' }
        const row = world.entities[entity]!
        if (row.version !== local.base) return again(local, 'reads the entity')
        Object.assign(row, { version: local.version, hasKey: wants })
        return local.old && !wants ? { goto: 'releases a claim' } : 'end'
      },
    },
    {
      label: 'reads the catalog',
      run({ catalogs }, local) {
        const { tries: tried } = local
        Object.assign(local, { ...NOTHING, known: { ...catalogs[shardOf(entity)] }, tries: tried })
        return { goto: 'reads the entity' }
      },
    },
    ...[0, 1].map((turn): ClaimStep => ({
      label: turn === 0 ? 'releases a claim' : 'releases the other claim',
      run({ claims }, local) {
        const all = PLACES[local.known.phase]
        const place = (releases === 'in order' ? all : all.toReversed())[turn]
        const claim = place === undefined ? null : claims[place]
        const isOlder = claim !== null && (claim.stamp < local.version || !guards.releasesCompareStamps)
        if (claim?.entity === entity && isOlder) claims[place!] = null
        return turn === 0 ? undefined : 'end'
      },
    })),
  ]
}

const NOTHING: Partial<ClaimMemory> = {
  base: 0,
  old: false,
  version: 0,
  place: 0,
  other: null,
  otherVersion: 0,
}

const isClaim = (
  claim: PlacedClaim | null,
  { entity, stamp }: PlacedClaim,
  { swapsCompareStamps }: ClaimGuards,
): boolean => claim?.entity === entity && (!swapsCompareStamps || claim.stamp === stamp)

/**
 * Publishes phase by phase, as the mover of index rows does. In the phase `both` it takes the claim of the source's holder at the target, if
 * the holder is committed with the key.
 */
export function claimMover(guards: ClaimGuards): ClaimProcess {
  const anew = (local: ClaimMemory): StepResult => {
    Object.assign(local, NOTHING)
    return { goto: 'reads the claim at the source' }
  }
  const filled = (world: ClaimWorld, local: ClaimMemory): StepResult => {
    if (world.catalogs[0].epoch === local.known.epoch) world.filled = local.known.epoch
    Object.assign(local, NOTHING)
    return { goto: 'reads the leading catalog' }
  }
  return [
    {
      label: 'reads the leading catalog',
      run: ({ catalogs: [leading] }, local) => void (local.known = { ...leading }),
    },
    {
      label: 'copies it to the other shard',
      run({ catalogs: [, catalog] }, { known }) {
        if (known.phase === 'both' && !guards.allClaimTwiceBeforeFilling) return
        if (catalog.epoch < known.epoch) Object.assign(catalog, known)
      },
    },
    {
      label: 'publishes the next phase',
      run(world, { known: { phase, epoch } }) {
        if (phase === 'after' || phase === 'undoing' || phase === 'undone') return 'end'
        if (phase === 'both' && world.filled !== epoch && guards.targetIsFilled) return undefined
        const next = guards.phasesAreAdjacent ? CLAIM_PHASES[CLAIM_PHASES.indexOf(phase) + 1]! : 'after'
        publish(world, epoch, next)
        return { goto: 'reads the leading catalog' }
      },
    },
    {
      label: 'reads the claim at the source',
      run(world, local) {
        const [claim] = world.claims
        if (claim === null) return filled(world, local)
        local.base = claim.entity
        return undefined
      },
    },
    {
      label: 'reads the entity of the claim',
      run(world, local) {
        const { version, hasKey } = world.entities[local.base]!
        if (!hasKey) return filled(world, local)
        local.version = version
        return undefined
      },
    },
    {
      label: 'takes its claim at the target',
      run(world, local) {
        const { base: entity, version } = local
        const claim = world.claims[1]
        if (claim === null || claim.entity === entity) {
          world.claims[1] = { entity, stamp: Math.max(claim?.stamp ?? 0, version) }
          return filled(world, local)
        }
        if (!guards.fillingTakesOver) return filled(world, local)
        local.other = claim
        return undefined
      },
    },
    {
      label: 'reads the holder at the target',
      run({ entities }, local) {
        const { version, hasKey } = entities[local.other!.entity]!
        if (hasKey) return anew(local)
        local.otherVersion = version
        return local.other!.stamp > version ? undefined : { goto: 'takes its claim at the target over' }
      },
    },
    {
      label: 'fences that holder off',
      run({ entities }, local, process) {
        const row = entities[local.other!.entity]!
        if (row.version !== local.otherVersion) return anew(local)
        row.version = nextVersion(Math.max(row.version, local.other!.stamp), process)
        return undefined
      },
    },
    {
      label: 'takes its claim at the target over',
      run(world, local) {
        if (!isClaim(world.claims[1], local.other!, guards)) return anew(local)
        world.claims[1] = { entity: local.base, stamp: local.version }
        return filled(world, local)
      },
    },
  ]
}

function publish({ catalogs: [leading] }: ClaimWorld, from: number, phase: ClaimPhase): void {
  if (leading.epoch === from) Object.assign(leading, { epoch: from + 1, phase })
}

/** Undoes a move that is at the phase `both`. */
export const claimUndo: ClaimProcess = [
  {
    label: 'announces the undo',
    run(world) {
      const [leading] = world.catalogs
      if (leading.phase === 'before') return 'blocked'
      if (leading.phase !== 'both') return 'end'
      publish(world, leading.epoch, 'undoing')
      return undefined
    },
  },
  {
    label: 'copies the undo to the other shard',
    run({ catalogs: [leading, catalog] }) {
      if (catalog.epoch < leading.epoch) Object.assign(catalog, leading)
    },
  },
  { label: 'removes the move', run: (world) => void publish(world, world.catalogs[0].epoch, 'undone') },
]

/** The bucket of entity 0 moves. Its row stays as it is on the shard that it has left. */
export const holderMoves: Event<ClaimWorld> = {
  label: 'entity 0 moves to another shard',
  possible: () => true,
  happen: (world) => void (world.leftBehind = { ...world.entities[0]! }),
}

/** A take of an attempt of entity 1 that has long lost arrives at the target. */
export const lateTake: Event<ClaimWorld> = {
  label: 'a take of entity 1 arrives late',
  possible: ({ claims }) => claims[1] === null,
  happen: ({ claims }) => void (claims[1] = { entity: 1, stamp: 5 }),
}
