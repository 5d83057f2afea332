import { isLooseleafError, LooseleafError } from '@looseleaf/core'
import {
  forEachMatch,
  type EngineContext,
  type GetAllOptions,
  type QueryPlan,
  type QueryPorts,
  type ReadEntity,
} from '@looseleaf/index-engine/internal'
import { damagedHandler, onceForEach } from '../entities/damaged-handler.ts'
import type { MissingShards } from '../entities/missing-shards.ts'
import { skippingScans } from '../rows/skipping-scans.ts'
import { guarded, wholeReader, type Guard, type RowReaderFrom } from '../rows/row-reader.ts'
import type { Completeness } from '../steps/completeness.ts'
import type { Sources } from '../steps/read.ts'
import type { ProtectedReads } from './protected-reads.ts'

export interface MatchesToRead {
  readonly plan: QueryPlan
  readonly options: Pick<GetAllOptions, 'signal' | 'onDamaged'>
  /** See `forEachMatch`. */
  readonly likelyRows?: number | undefined
  /** Largest number of matches, see `forEachMatch`. Default: no limit. */
  readonly limit?: number | undefined
  /** Default: whole entities. */
  readonly rows?: RowReaderFrom | undefined
  /** Receives the shards that the answer leaves out. Default: the read fails if a shard does not answer. */
  readonly missing?: MissingShards | undefined
}

/** Calls `onMatch` with every match, up to the limit. Returns true if there are no others. Rejects with `DEADLINE` after `queryTimeMs`, when an entity that has moved may be missing. */
export type ReadAll = (
  sources: Sources,
  matches: MatchesToRead,
  onMatch: (entity: ReadEntity) => void,
) => Promise<boolean>

interface Attempt {
  readonly found: readonly ReadEntity[]
  readonly isWhole: boolean
  readonly left: MissingShards | undefined
}

/** Makes the function that reads all matches of a plan. Every scan first checks the deadline. */
export function createReadAll(
  { catalog }: EngineContext,
  completeness: Pick<Completeness, 'deadline' | 'mayBePending'>,
  protectedReads: ProtectedReads,
): ReadAll {
  return async (sources, { plan, options, likelyRows, limit, rows = (whole) => whole, missing }, onMatch) => {
    const { view, entries } = sources
    const { signal, onDamaged } = options
    const isTooLong = completeness.deadline(view)
    await completeness.mayBePending(view, [plan])
    const checkTime = (): void => {
      if (isTooLong()) throw tookTooLong(entries[0]!.name, catalog.current().queryTimeMs)
    }
    const handleDamaged = onceForEach(damagedHandler(onDamaged, view))
    const readWith = async (guard: Guard, isLast: boolean): Promise<Attempt> => {
      const left = missing && view.skipping?.begin()
      const whole = wholeReader(sources, plan, { handleDamaged, leaveOut: left?.leaveOut })
      const { scan, read } = skippingScans(rows(guarded(whole, guard)), view, left)
      const scanInTime: QueryPorts['scan'] = (...args) => {
        checkTime()
        return scan(...args)
      }
      // The answers of an attempt count only if it is not made again.
      const found: ReadEntity[] = []
      const take = isLast ? onMatch : (entity: ReadEntity) => void found.push(entity)
      const ports = { scan: scanInTime, read }
      const isWhole = await forEachMatch(ports, plan, { signal, likelyRows, limit }, take)
      return { found, isWhole, left }
    }
    let isWhole: boolean
    try {
      const readsOn = limit === undefined
      const attempt = await protectedReads.read(sources, { plan, signal, readsOn }, readWith)
      isWhole = attempt.isWhole
      missing?.add(attempt.left)
      for (const entity of attempt.found) onMatch(entity)
    } catch (error) {
      // The time of a snapshot is up when that of the call is, or a bit later.
      if (isLooseleafError(error, 'DEADLINE')) checkTime()
      throw error
    }
    checkTime()
    return isWhole
  }
}

/** Makes the error of a read of all matches that took longer than lost rows are kept. */
function tookTooLong(index: string, queryTimeMs: number): LooseleafError {
  return new LooseleafError(
    'DEADLINE',
    `Index ${index}: reading took longer than ${queryTimeMs} ms (queryTimeMs), so entities that have moved may be missing. Read page by page, each with the cursor of the page before.`,
  )
}
