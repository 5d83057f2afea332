import type { LooseleafError } from '@looseleaf/core'
import { isOutage } from '@looseleaf/core/internal'
import type { EngineContext, QueryCost } from '@looseleaf/index-engine/internal'
import type { ShardLanes } from '../../calls/shard-lanes.ts'
import type { PartialAnswer } from './partial-answer.ts'

/** The shards that one answer leaves out. */
export interface MissingShards {
  readonly names: ReadonlySet<string>
  /** Notes the shard with this name, if the error says that it does not answer. Throws the error otherwise, and for a replica. */
  leaveOut(error: unknown, shard: string): void
  /** Notes the shards that a part of the answer leaves out. */
  add(part: MissingShards | undefined): void
}

/** The skipping of one call with `onUnavailable: 'skip'`. */
export interface Skipping {
  begin(): MissingShards
  /** Error of the first shard that was left out; undefined so far. */
  readonly error: LooseleafError | undefined
}

export function createSkipping({ driver, events }: Pick<EngineContext, 'driver' | 'events'>): Skipping {
  const reported = new Set<string>()
  let first: LooseleafError | undefined

  function report(error: LooseleafError, shard: string): void {
    if (reported.has(shard)) return
    reported.add(shard)
    first ??= error
    events.happened({ kind: 'skipped', code: error.code, shard })
  }

  return {
    get error() {
      return first
    },
    begin() {
      const names = new Set<string>()
      return {
        names,
        leaveOut(error, shard) {
          // If a replica does not answer, the call reads primaries.
          const isPrimary = driver.shards.some(({ name }) => name === shard)
          if (!isPrimary || !isOutage(error)) throw error
          report(error, shard)
          names.add(shard)
        },
        add(part) {
          for (const name of part?.names ?? []) names.add(name)
        },
      }
    },
  }
}

/**
 * Asks a shard, without waiting for a silent server. If it does not answer, each of `missing` notes that, and the call resolves with
 * `nothing`.
 */
export async function askOrLeaveOut<Answer>(
  { answers, shard }: Pick<ShardLanes, 'answers' | 'shard'>,
  missing: readonly MissingShards[],
  ask: () => Promise<Answer>,
  nothing: Answer,
): Promise<Answer> {
  try {
    return await answers.bounded(ask)
  } catch (error) {
    for (const each of missing) each.leaveOut(error, shard)
    return nothing
  }
}

/** Returns the cost of a page that leaves these shards out. */
export function costWithout(cost: QueryCost, missing: MissingShards | undefined): QueryCost {
  if (missing === undefined || missing.names.size === 0) return cost
  const missingShards = [...new Set([...(cost.missingShards ?? []), ...missing.names])]
  return { ...cost, complete: false, missingShards }
}

/** Returns the completeness of an answer that has no cost. */
export function partialAnswer({ names }: MissingShards, isWhole = true): PartialAnswer {
  return { complete: isWhole && names.size === 0, missingShards: [...names] }
}
