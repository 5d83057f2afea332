import type { EngineContext } from '@looseleaf/index-engine/internal'
import {
  claimEarly,
  deleteLost,
  writeEarly,
  type RowLanesOf,
  type TakeKey,
} from '@looseleaf/protocol/internal'
import type { LanesOf } from '../calls/shard-lanes.ts'

/** A function of the protocol, without the context and the lanes of a store. */
type Bound<Protocol> = Protocol extends (
  context: EngineContext,
  lanes: never,
  ...args: infer Args
) => infer Result
  ? (...args: Args) => Result
  : never

/** Writes the claims and index rows of an entity through the lanes of their shards. */
export interface IndexRowWriter {
  readonly claim: Bound<typeof claimEarly>
  readonly upsert: Bound<typeof writeEarly>
  readonly remove: Bound<typeof deleteLost>
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
