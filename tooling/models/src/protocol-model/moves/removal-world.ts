import type { Step } from '../explore.ts'

/** A change of the catalog that a caller wants. */
export type Change = 'removal' | 'move to shard 0' | 'index'

/** Contents of a catalog, the same on all shards in the end. */
export interface Contents {
  /** Epoch of the last change. Greater contents replace lesser ones. */
  readonly at: number
  /** All changes so far. */
  readonly has: readonly Change[]
}

/** A shard, seen from its catalog. Its disk may be behind the commits that it shows. */
export interface CatalogShard {
  epoch: number
  contents: Contents
  disk: { readonly epoch: number; readonly contents: Contents }
  restarts: number
}

/** Shards whose catalogs are changed while shard 0, the leading one, is removed. */
export interface RemovalWorld {
  readonly shards: CatalogShard[]
  /** The clock of all shards. */
  clock: number
  /** Changes whose callers have been told that all shards have them. */
  readonly told: Change[]
  /** Whether a process has left out the shard that leads by the catalogs of the others. */
  isLost: boolean
}

/** A catalog that was read; null for a shard that the process leaves out. */
interface ReadCatalog {
  readonly epoch: number
  readonly contents: Contents
}

export interface RemovalMemory {
  known: (ReadCatalog | null)[]
  /** Whether the process knows that shard 0 was removed. */
  leavesOut: boolean
  /** Shard of the last change by this process, its restarts before, and its epoch. */
  changed: number
  restarts: number
  /** Epoch that all shards must have reached. */
  least: number
  /** Contents that are being copied, and the number of their shard. */
  source: Contents | null
  from: number
  /** Whether the contents of the first look had a move to shard 0. */
  sawMove: boolean
}

/** Guards of changes of the catalog while its leading shard is removed. The tests turn each off to show what breaks. */
export interface RemovalGuards {
  /** A removed shard counts until another shard has its removal. */
  readonly removedCountsUntilTaken: boolean
  /** It counts until that is on the disk of the other shard. */
  readonly leavesOutFromDisk: boolean
  /** The next leading shard takes over a removal only once that is on the disk of the removed shard. */
  readonly takesOverFromDisk: boolean
  /** Every shard is flushed before its catalog is read for that. */
  readonly flushesCopies: boolean
  /** The change that removes a shard looks for moves to it. */
  readonly looksInTheChange: boolean
}

export const allRemovalGuards: RemovalGuards = {
  removedCountsUntilTaken: true,
  leavesOutFromDisk: true,
  takesOverFromDisk: true,
  flushesCopies: true,
  looksInTheChange: true,
}

export type RemovalStep = Step<RemovalWorld, RemovalMemory>
export type RemovalProcess = readonly RemovalStep[]

export function removalWorld(shards: number): RemovalWorld {
  const contents: Contents = { at: 1, has: [] }
  return {
    shards: Array.from({ length: shards }, () => ({
      epoch: 1,
      contents,
      disk: { epoch: 1, contents },
      restarts: 0,
    })),
    clock: 1,
    told: [],
    isLost: false,
  }
}

/** Returns a world in which a process has removed shard 0, and has died before the change was on disk. */
export function halfRemoved(shards: number): RemovalWorld {
  const world = removalWorld(shards)
  const [leading] = world.shards as [CatalogShard]
  world.clock = 2
  leading.epoch = 2
  leading.contents = { at: 2, has: ['removal'] }
  return world
}

export const noRemovalMemory = (): RemovalMemory => ({
  known: [],
  leavesOut: false,
  changed: 0,
  restarts: 0,
  least: 0,
  source: null,
  from: 0,
  sawMove: false,
})

/** Returns a broken promise. */
export function brokenRemoval({ shards, told, isLost }: RemovalWorld): string | undefined {
  if (isLost) return 'a process finds no leading shard'
  const isGone = shards[1]!.contents.has.includes('removal')
  const present = isGone ? shards.slice(1) : shards
  const forgotten = told.find((change) => present.some(({ contents }) => !contents.has.includes(change)))
  if (forgotten !== undefined) return 'a shard lacks a change whose caller was told that all have it'
  const isWrong = shards.some(
    ({ contents: { has } }) => has.includes('removal') && has.includes('move to shard 0'),
  )
  return isWrong ? 'a bucket moves to a removed shard' : undefined
}
