import { LooseleafError } from '@looseleaf/core'
import type { FaultPlan } from '@looseleaf/testkit'

/** Makes writes of rows of the index by_name fail, on every shard. */
export const refuseUpserts: FaultPlan = ({ table, operation }) =>
  table === 'index_by_name' && operation === 'upsert'
    ? {
        before() {
          throw new LooseleafError('SHARD_UNAVAILABLE', 'The shard is down (a fault on purpose).')
        },
      }
    : undefined
