import type { EngineContext, Placement } from '@looseleaf/index-engine/internal'
import {
  claimEarly,
  deleteLost,
  writeEarly,
  type PlacedKey,
  type RowFailure,
  type RowLanesOf,
  type TakeKey,
} from '@looseleaf/protocol/internal'
import type { LanesOf } from '../calls/shard-lanes.ts'

/** Writes the claims and index rows of an entity through the lanes of their shards. */
export interface IndexRowWriter {
  /** `claimEarly` of the protocol. */
  claim(
    placement: Placement,
    keys: readonly PlacedKey[],
    entityId: Uint8Array,
    version: number,
    signal: AbortSignal | undefined,
    mayPass?: (key: PlacedKey, holder: Uint8Array) => boolean,
  ): Promise<void>
  /** `writeEarly` of the protocol. */
  upsert(
    placement: Placement,
    rows: readonly PlacedKey[],
    entityId: Uint8Array,
    version: number,
    signal?: AbortSignal,
  ): Promise<readonly RowFailure[]>
  /** `deleteLost` of the protocol. */
  remove(rows: readonly PlacedKey[], entityId: Uint8Array, before: number): Promise<void>
}

export function createIndexRowWriter(context: EngineContext, lanes: LanesOf): IndexRowWriter {
  const lanesOf: RowLanesOf = (shard, spec) => lanes(shard).index(spec)
  const take: TakeKey = (shard, spec, row, signal) => lanes(shard).claims(spec).submit(row, signal)
  return {
    claim: (...args) => claimEarly(context, take, ...args),
    upsert: (...args) => writeEarly(context, lanesOf, ...args),
    remove: (...args) => deleteLost(context, lanesOf, ...args),
  }
}
