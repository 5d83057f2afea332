import {
  forEachMatch,
  type EngineContext,
  type GetAllOptions,
  type QueryPlan,
  type QueryPorts,
  type ReadEntity,
} from '@looseleaf/index-engine/internal'
import { tookTooLong } from './took-too-long.ts'
import { damagedHandler } from '../entities/damaged-handler.ts'
import { wholeReader, type RowReaderFrom } from '../rows/row-reader.ts'
import type { Completeness } from '../steps/completeness.ts'
import type { Sources } from '../steps/read.ts'

export interface MatchesToRead {
  readonly plan: QueryPlan
  readonly options: Pick<GetAllOptions, 'signal' | 'onDamaged'>
  /** See `forEachMatch`. */
  readonly likelyRows?: number | undefined
  /** Largest number of matches, see `forEachMatch`. Default: no limit. */
  readonly limit?: number | undefined
  /** Default: whole entities. */
  readonly rows?: RowReaderFrom | undefined
}

/** Calls `onMatch` with every match, up to the limit. Returns true if there are no others. Rejects with `DEADLINE` after `queryTimeMs`, when an entity that has moved may be missing. */
export type ReadAll = (
  sources: Sources,
  matches: MatchesToRead,
  onMatch: (entity: ReadEntity) => void,
) => Promise<boolean>

/** Makes the function that reads all matches of a plan. Every scan first checks the deadline. */
export function createReadAll(
  { catalog }: EngineContext,
  completeness: Pick<Completeness, 'deadline'>,
): ReadAll {
  return async (sources, { plan, options, likelyRows, limit, rows = (whole) => whole }, onMatch) => {
    const { view, entries } = sources
    const { signal, onDamaged } = options
    const isTooLong = completeness.deadline(view)
    const checkTime = (): void => {
      if (isTooLong()) throw tookTooLong(entries[0]!.name, catalog.current().queryTimeMs)
    }
    const { scan, read } = rows(wholeReader(sources, plan, damagedHandler(onDamaged, view)))
    const scanInTime: QueryPorts['scan'] = (...args) => {
      checkTime()
      return scan(...args)
    }
    const ports = { scan: scanInTime, read }
    const isWhole = await forEachMatch(ports, plan, { signal, likelyRows, limit }, onMatch)
    checkTime()
    return isWhole
  }
}
