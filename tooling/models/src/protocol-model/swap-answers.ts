import type { Step } from './explore.ts'

/**
 * Two entities of one server that counts the rows that a statement has changed. A batch swaps both while
 * other processes write them one by one. The batch learns its winners from its answer, or by reading back.
 */
export interface SwapWorld {
  rows: Record<Entity, StoredRow>
  /** Rows that the batch has changed and not committed; other processes cannot write them. */
  locked: Entity[]
  /** Rows that the batch has really changed. */
  won: Entity[]
  /**
   * Winners reported to the batch's writer; undefined before the answer, `unknown` if they cannot be
   * determined.
   */
  reported: readonly Entity[] | 'unknown' | undefined
}

export type Entity = 'a' | 'b'

export interface StoredRow {
  version: number
  body: string
  /** Id of the attempt that wrote the row, as a column would hold it. */
  attempt: string
}

/** Variables of a process between its statements. */
export interface SwapMemory {
  base: number
  changed: number
  found: Partial<Record<Entity, number>>
}

export interface SwapGuards {
  /** The answer to the swap names its winners. */
  readonly named: boolean
  /** The number of changed rows must agree with the versions read back. */
  readonly counts: boolean
  /** Swap and read are one transaction, which is rolled back if the versions leave the outcome open. */
  readonly inTransaction: boolean
  /** How a process recognizes its own rows among rows of the version that it wrote. */
  readonly knownBy: 'nothing' | 'body' | 'attempt'
}

export type SwapProcess = readonly Step<SwapWorld, SwapMemory>[]

const ENTITIES: readonly Entity[] = ['a', 'b']
const BASE = 10
/** Version that the batch gives both rows. */
export const WRITTEN = 20

const untouched = (): StoredRow => ({ version: BASE, body: 'old', attempt: 'before' })

export function swapWorld(): SwapWorld {
  return { rows: { a: untouched(), b: untouched() }, locked: [], won: [], reported: undefined }
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
        // The number tells whether all or none were changed.
        const isReported = named || won.length !== 1
        if (isReported) world.reported = won
        return isReported ? { goto: 'commits' } : undefined
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
          if (changed === sure.length) world.reported = sure
          else {
            for (const entity of world.won) world.rows[entity] = untouched()
            world.won = world.reported = []
          }
          return undefined
        }
        if (!counts) world.reported = all
        else if (changed === sure.length) world.reported = sure
        else world.reported = changed === all.length ? all : 'unknown'
        if (sure.length === all.length || world.reported === 'unknown') return undefined
        if (!sure.every((entity) => isOwn(world.rows[entity]))) world.reported = 'unknown'
        return undefined
      },
    },
    { label: 'commits', run: (world) => void (world.locked = []) },
  ]
}

/** Writes an entity once per version, each time from the version that it finds. */
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

/** Returns a violation if the reported winners are wrong. */
export function wrongReport({ reported, won }: SwapWorld): string | undefined {
  if (reported === undefined || reported === 'unknown' || reported.join() === won.join()) return undefined
  return `the batch has won [${won.join()}] but learns [${reported.join()}]`
}

export function noReport({ reported }: SwapWorld): string | undefined {
  return reported === 'unknown' ? 'the batch does not learn its winners' : undefined
}
