import { LooseleafError } from '@looseleaf/core'
import type { FaultPlan } from '@looseleaf/testkit'

/** The rows of the index by_name cannot be written, wherever they are to stand. */
export const refuseUpserts: FaultPlan = ({ table, operation }) =>
  table === 'index_by_name' && operation === 'upsert'
    ? {
        before() {
          throw new LooseleafError('SHARD_UNAVAILABLE', 'The shard is down (a fault on purpose).')
        },
      }
    : undefined
