import type { Step } from '../explore.ts'

export type Place = 0 | 1

/** Phases of a bucket of claims that moves from place A to place B; an undo leads back to A. */
export const CLAIM_PHASES = ['before', 'both', 'target', 'after', 'undoing', 'undone'] as const

export type ClaimPhase = (typeof CLAIM_PHASES)[number]

/** Places at which claims are taken and released, in this order. */
export const PLACES: Readonly<Record<ClaimPhase, readonly Place[]>> = {
  before: [0],
  both: [0, 1],
  target: [0, 1],
  after: [1],
  undoing: [0, 1],
  undone: [0],
}

/** The holder of the key and the version of the attempt that took it. */
export interface PlacedClaim {
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
  /** Whether the claims are complete. Before that, older entities may share the key. */
  isReady: boolean
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
  /** For a filler: whether an entity could not have its claim. */
  duplicate: boolean
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
  /** A filler reads the catalog after it has taken the claims, and begins again if it has changed. */
  readonly fillersLookAgain: boolean
  /** It takes the claims at both places. */
  readonly fillersTakeBoth: boolean
  /** The claims are not ready if an entity could not have its own. */
  readonly duplicatesAreCounted: boolean
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
  fillersLookAgain: true,
  fillersTakeBoth: true,
  duplicatesAreCounted: true,
}

export type ClaimStep = Step<ClaimWorld, ClaimMemory>
export type ClaimProcess = readonly ClaimStep[]

export interface ClaimWorldOptions {
  /** Entities that exist, by number, and whether they have the key. */
  readonly entities?: readonly (boolean | undefined)[]
  readonly claims?: readonly [PlacedClaim | null, PlacedClaim | null]
  readonly phase?: ClaimPhase
  readonly isFilled?: boolean
  readonly isReady?: boolean
}

export function claimWorld({
  entities = [undefined, undefined],
  claims = [null, null],
  phase = 'before',
  isFilled = false,
  isReady = true,
}: ClaimWorldOptions = {}): ClaimWorld {
  return {
    catalogs: [
      { epoch: 1, phase },
      { epoch: 1, phase },
    ],
    entities: entities.map((hasKey) => ({ version: hasKey === undefined ? 0 : 10, hasKey: hasKey === true })),
    claims: [...claims],
    filled: isFilled ? 1 : 0,
    isReady,
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
  duplicate: false,
})

/** Returns a broken promise: two entities have the key, or a process was wrongly refused. */
export function brokenClaim({ entities, isReady, wrong }: ClaimWorld): string | undefined {
  if (wrong !== undefined) return wrong
  if (!isReady) return undefined
  return entities.filter(({ hasKey }) => hasKey).length > 1 ? 'two entities have one key' : undefined
}

/** Checks at rest that the entity with the key has its claim wherever a next writer would look. */
export function unclaimedAtPlace({ catalogs, entities, claims, isReady }: ClaimWorld): string | undefined {
  if (!isReady) return undefined
  const holder = entities.findIndex(({ hasKey }) => hasKey)
  if (holder === -1) return undefined
  const isEverywhere = catalogs.every(({ phase }) => ['target', 'after'].includes(phase))
  const places: readonly Place[] = isEverywhere ? [1] : [0]
  const lacking = places.find((place) => claims[place]?.entity !== holder)
  return lacking === undefined ? undefined : `the holder has no claim at place ${'AB'[lacking]}`
}

export const nextVersion = (base: number, process: number): number =>
  (Math.floor(base / 10) + 1) * 10 + process + 1

export const shardOf = (entity: number): 0 | 1 => (entity === 0 ? 0 : 1)
