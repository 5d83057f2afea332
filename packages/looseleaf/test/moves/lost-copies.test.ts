import { parseId, type EntityId } from '@looseleaf/core'
import type { AwayBuckets, ShardCatalog, ShardServes } from '@looseleaf/core/internal'
import { moveBuckets } from '@looseleaf/mover/internal'
import { entitiesIn } from '@looseleaf/protocol/internal'
import { DataStore } from '@looseleaf/store'
import { faultyDriver, unknownOutcome, type Fault, type FaultyCall } from '@looseleaf/testkit'
import { crashingShards, type CrashingShards } from '@looseleaf-tooling/kit/crashing-shards'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { SOME_BUCKETS } from './stores.ts'

const PLAN = { from: 0, to: 1, buckets: SOME_BUCKETS }

/** Returns the buckets of a shard that a call changes. */
function servesOf({ operation, args }: FaultyCall): Partial<ShardServes> {
  return (operation === 'change' ? (args[0] as Partial<ShardCatalog>).serves : undefined) ?? {}
}

/** Returns the step of a move that a call takes. */
function stepOf(call: FaultyCall): 'receive' | 'seal' | 'hand over' | 'begin' | undefined {
  if (call.operation === 'receive') return 'receive'
  const { leaving, away, arrived } = servesOf(call)
  if (leaving?.some(({ sealed }) => sealed !== undefined)) return 'seal'
  if (away !== undefined) return 'hand over'
  return arrived === undefined ? undefined : 'begin'
}

/** Opens a store with an entity in these buckets, and a mover with faults. */
async function openWith(
  buckets: string,
  fault: (call: FaultyCall, shards: CrashingShards) => Fault | undefined,
): Promise<{ writer: DataStore; mover: DataStore; id: EntityId }> {
  const shards: CrashingShards = crashingShards(2, (driver) =>
    faultyDriver(driver, (call) => fault(call, shards)),
  )
  const writer = await DataStore.open({ shards: shards.factory, migrate: true })
  const isIn = entitiesIn(writer.context, buckets)
  let id: EntityId
  do id = writer.newId()
  while (!isIn(parseId(id)))
  await writer.put({ n: 1 }, { id })
  return { writer, mover: await DataStore.open({ shards: shards.factory, time: leapingTime() }), id }
}

test('a group begins although an entity that was copied last was copied again without an answer', async () => {
  let step: 'copy' | 'begin' | 'over' = 'copy'
  let copies = 0
  // An entity of the second group, so that it is not in the last copy of the first one.
  const { writer, mover, id } = await openWith('512-1023', (call) => {
    const made = stepOf(call)
    if (made === 'receive' && step === 'copy') {
      return {
        async after() {
          await writer.update(id, (bag) => ({ n: Number(bag['n']) + 1 }))
          if (++copies > 1) throw unknownOutcome()
        },
      }
    }
    if (made !== 'begin' || step === 'over') return undefined
    step = 'over'
    return {
      before() {
        throw unknownOutcome()
      },
    }
  })
  expect(await moveBuckets(mover, PLAN, { groups: 2 })).toMatchObject({ state: 'done' })
  expect(copies).toBeGreaterThan(2)
  expect(await writer.get(id)).toMatchObject({ n: copies + 1 })
})

test.each(['hand over', 'begin'] as const)(
  'a group whose last copy the target has lost is copied and given up again, before any other group (%s)',
  async (time) => {
    let isOver = false
    const given: AwayBuckets[] = []
    const { mover, id } = await openWith('0-511', (call, shards) => {
      const made = stepOf(call)
      const last = servesOf(call).away?.at(-1)
      const isNew = last?.emptied === undefined && given.every(({ end }) => end !== last?.end)
      if (last !== undefined && isNew) given.push(last)
      if (isOver) return undefined
      // The entity is copied under the seal.
      if (made === 'seal') return { before: async () => void (await mover.put({ n: 2 }, { id })) }
      if (made === 'receive') return { before: () => shards.hang(1) }
      if (made !== time) return undefined
      isOver = true
      if (time === 'hand over') return { after: () => shards.crash(1) }
      return {
        before() {
          shards.crash(1)
          throw unknownOutcome()
        },
      }
    })
    expect(await moveBuckets(mover, PLAN, { groups: 2 })).toMatchObject({ state: 'done' })
    expect(given.map(({ buckets }) => buckets)).toEqual(['0-511', '0-511', '512-1023'])
    expect(await mover.get(id)).toMatchObject({ n: 2 })
    expect((await mover.shards.repair()).problems).toEqual([])
  },
)

test('a write stays at a target that begins by a hand-over which arrives after a failover of the source', async () => {
  let step: 'seal' | 'hand over' | 'copy' | 'over' = 'seal'
  let late: () => Promise<unknown>
  const { writer, mover, id } = await openWith('0-511', (call, { reference }) => {
    const made = stepOf(call)
    const source = reference.shards[0]!
    if (step === 'seal' && made === 'seal') {
      step = 'hand over'
      // The entity is copied under the seal.
      return { before: async () => void (await writer.put({ n: 2 }, { id })) }
    }
    if (step === 'hand over' && made === 'hand over') {
      step = 'copy'
      const sealed = source.state()
      const [next, from] = call.args as Parameters<typeof source.catalog.change>
      late = async () => {
        source.fallBack(sealed, 'everything')
        expect(await source.catalog.change(next, from)).toBe(true)
        await writer.put({ n: 3 }, { id })
      }
      return {
        before() {
          throw unknownOutcome()
        },
      }
    }
    if (step !== 'copy' || made !== 'receive') return undefined
    step = 'over'
    return { before: async () => void (await late()) }
  })
  expect(await moveBuckets(mover, PLAN, { groups: 2 })).toMatchObject({ state: 'done' })
  expect(step).toBe('over')
  expect(await mover.get(id)).toMatchObject({ n: 3 })
})
