import { LooseleafError } from '@looseleaf/core'
import type { FaultPlan } from '@looseleaf/testkit'
import { upsertsRows } from '@looseleaf-tooling/kit/row-writes'

/** Makes writes of rows of the index by_name fail, on every shard. */
export const refuseUpserts: FaultPlan = (call) =>
  upsertsRows(call, 'index_by_name')
    ? {
        before() {
          throw new LooseleafError('SHARD_UNAVAILABLE', 'The shard is down (a fault on purpose).')
        },
      }
    : undefined
