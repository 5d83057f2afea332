import { parseId, type EntityId } from '@looseleaf/core'
import type { ShardCatalog } from '@looseleaf/core/internal'
import { defineIndex } from '@looseleaf/index-engine'
import { moveBuckets } from '@looseleaf/mover/internal'
import { entitiesIn } from '@looseleaf/protocol/internal'
import { DataStore, type MoveReport } from '@looseleaf/store'
import { faultyDriver, type Fault, type FaultyCall } from '@looseleaf/testkit'
import { crashingShards, type CrashingShards } from '@looseleaf-tooling/kit/crashing-shards'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { SOME_BUCKETS } from './stores.ts'

export const GROUPS = ['0-511', '512-1023'] as const
const PLAN = { from: 0, to: 1, buckets: SOME_BUCKETS }
export const byUser = defineIndex('by_user', { properties: { user: 'string' }, shardOn: 'user' })

interface Moving {
  readonly shards: CrashingShards
  readonly writer: DataStore
  /** Ids of the first group, then of the second one. */
  readonly ids: readonly [readonly [EntityId, EntityId], readonly [EntityId, EntityId]]
}

/** Moves two groups with two entities each, none of which is in the last bucket of its group. The calls of the mover meet faults. */
export async function moveWith(
  fault: (call: FaultyCall, moving: Moving) => Fault | undefined,
): Promise<
  Moving & { readonly openFaulty: () => Promise<DataStore>; readonly move: () => Promise<MoveReport> }
> {
  const shards: CrashingShards = crashingShards(2, (driver) => driver)
  const writer = await DataStore.open({ shards: shards.factory, indexes: [byUser], migrate: true })
  const idIn = (buckets: string): EntityId => {
    const isIn = entitiesIn(writer.context, buckets)
    for (;;) {
      const id = writer.newId()
      if (isIn(parseId(id))) return id
    }
  }
  const pairIn = (buckets: string) => [idIn(buckets), idIn(buckets)] as const
  const ids = [pairIn('0-510'), pairIn('512-1022')] as const
  for (const id of ids.flat()) await writer.put({ n: 1, user: id }, { id })
  const moving = { shards, writer, ids }
  const openFaulty = (): Promise<DataStore> =>
    DataStore.open({
      shards: {
        ...shards.factory,
        connect: async (options) =>
          faultyDriver(await shards.factory.connect(options), (call) => fault(call, moving)),
      },
      indexes: [byUser],
      time: leapingTime(),
    })
  const mover = await openFaulty()
  return { ...moving, openFaulty, move: () => moveBuckets(mover, PLAN, { groups: 2, leaseMs: 1 }) }
}

export const servesOf = ({ operation, args }: FaultyCall): Partial<ShardCatalog>['serves'] =>
  operation === 'change' ? (args[0] as ShardCatalog).serves : undefined

/** Returns the group that a call seals. */
export const sealedBy = (call: FaultyCall): string | undefined =>
  servesOf(call)?.leaving?.find(({ sealed }) => sealed !== undefined)?.sealed

export const isBegin = (call: FaultyCall): boolean =>
  call.shard === 1 && servesOf(call)?.arrived !== undefined
