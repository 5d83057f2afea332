import type { Step } from './explore.ts'

/**
 * Two entities of one server that counts the rows that a statement has changed. A batch swaps both, while other processes write them
 * one by one. Its winners are named by its answer, or read back after it.
 */
export interface SwapWorld {
  rows: Record<Entity, StoredRow>
  /** Rows that the batch has changed and not committed yet: nobody else writes them. */
  locked: Entity[]
  /** What the batch has changed in truth. */
  won: Entity[]
  /** What its writer is told; undefined before, `unknown` where it cannot be told. */
  told: readonly Entity[] | 'unknown' | undefined
}

export type Entity = 'a' | 'b'

export interface StoredRow {
  version: number
  body: string
  /** An id of its own of the attempt that wrote the row, as a column would have it. */
  attempt: string
}

/** What a process remembers between its statements. */
export interface SwapMemory {
  base: number
  changed: number
  found: Partial<Record<Entity, number>>
}

export interface SwapGuards {
  /** The answer to the swap names its winners. */
  readonly named: boolean
  /** The number of changed rows has to agree with the versions that were read back. */
  readonly counts: boolean
  /** Swap and reading back are one transaction, which is rolled back where the versions do not settle it. */
  readonly inTransaction: boolean
  /** By what rows at the version that was written are known to be one's own, where one may have been replaced again. */
  readonly knownBy: 'nothing' | 'body' | 'attempt'
}

export type SwapProcess = readonly Step<SwapWorld, SwapMemory>[]

const ENTITIES: readonly Entity[] = ['a', 'b']
const BASE = 10
/** The version that the batch gives both. */
export const WRITTEN = 20

const untouched = (): StoredRow => ({ version: BASE, body: 'old', attempt: 'before' })

export function swapWorld(): SwapWorld {
  return { rows: { a: untouched(), b: untouched() }, locked: [], won: [], told: undefined }
}

export const noMemory = (): SwapMemory => ({ base: 0, changed: 0, found: {} })

export function batch({ named, counts, inTransaction, knownBy }: SwapGuards): SwapProcess {
  const isOwn = ({ version, body, attempt }: StoredRow): boolean =>
    version === WRITTEN &&
    (knownBy === 'nothing' || (knownBy === 'body' ? body === 'of the batch' : attempt === 'the batch'))
  return [
    {
      label: 'swaps both',
      run: (world, memory) => {
        const won = ENTITIES.filter((entity) => world.rows[entity].version === BASE)
        for (const entity of won)
          world.rows[entity] = { version: WRITTEN, body: 'of the batch', attempt: 'the batch' }
        memory.changed = won.length
        world.won = won
        if (inTransaction) world.locked = won
        // All or none: the number says it.
        const isTold = named || won.length !== 1
        if (isTold) world.told = won
        return isTold ? { goto: 'commits' } : undefined
      },
    },
    {
      label: 'reads the versions back',
      run: ({ rows }, memory) => {
        for (const entity of ENTITIES) memory.found[entity] = rows[entity].version
      },
    },
    {
      label: 'concludes',
      run: (world, { changed, found }) => {
        const at = (fits: (version: number) => boolean): Entity[] =>
          ENTITIES.filter((entity) => fits(found[entity] ?? 0))
        const [sure, all] = [at((version) => version === WRITTEN), at((version) => version >= WRITTEN)]
        if (inTransaction) {
          if (changed === sure.length) world.told = sure
          else {
            for (const entity of world.won) world.rows[entity] = untouched()
            world.won = world.told = []
          }
          return undefined
        }
        if (!counts) world.told = all
        else if (changed === sure.length) world.told = sure
        else world.told = changed === all.length ? all : 'unknown'
        if (sure.length === all.length || world.told === 'unknown') return undefined
        if (!sure.every((entity) => isOwn(world.rows[entity]))) world.told = 'unknown'
        return undefined
      },
    },
    { label: 'commits', run: (world) => void (world.locked = []) },
  ]
}

/** Writes an entity as often as there are versions, each from the one that it finds. */
export function otherWriter(entity: Entity, versions: readonly number[], body: string): SwapProcess {
  return versions.flatMap((version): SwapProcess => [
    { label: `reads ${entity}`, run: ({ rows }, memory) => void (memory.base = rows[entity].version) },
    {
      label: `swaps ${entity} for ${version}`,
      run: (world, memory) => {
        if (world.locked.includes(entity)) return 'blocked'
        const { base } = memory
        if (world.rows[entity].version === base && version > base)
          world.rows[entity] = { version, body, attempt: `another, ${version}` }
        return undefined
      },
    },
  ])
}

/** Who is told anything is told what is so. */
export function toldWrong({ told, won }: SwapWorld): string | undefined {
  if (told === undefined || told === 'unknown' || told.join() === won.join()) return undefined
  return `the batch has won [${won.join()}] and is told [${told.join()}]`
}

export function notTold({ told }: SwapWorld): string | undefined {
  return told === 'unknown' ? 'the batch is not told what it has won' : undefined
}
