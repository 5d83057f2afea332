import { LooseleafError, parseId, type EntityId } from '@looseleaf/core'
import type { AwayBuckets, ShardCatalog, ShardServes } from '@looseleaf/core/internal'
import { moveBuckets, resumeMoves } from '@looseleaf/mover/internal'
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
): Promise<{ writer: DataStore; mover: DataStore; openMover: () => Promise<DataStore>; id: EntityId }> {
  const shards: CrashingShards = crashingShards(2, (driver) =>
    faultyDriver(driver, (call) => fault(call, shards)),
  )
  const writer = await DataStore.open({ shards: shards.factory, migrate: true })
  const isIn = entitiesIn(writer.context, buckets)
  let id: EntityId
  do id = writer.newId()
  while (!isIn(parseId(id)))
  await writer.put({ n: 1 }, { id })
  const openMover = (): Promise<DataStore> => DataStore.open({ shards: shards.factory, time: leapingTime() })
  return { writer, mover: await openMover(), openMover, id }
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
    expect(given.map(({ buckets }) => buckets)).toEqual(['0-511', '0-511', '512-767', '768-1023'])
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

test('a mover that was suspended deletes no write at a target after another mover has copied lost buckets again', async () => {
  type Step = 'seal' | 'copy' | 'begin' | 'lost' | 'copied' | 'left' | 'taken over' | 'over'
  let step: Step = 'seal'
  const copied = Promise.withResolvers<void>()
  const left = Promise.withResolvers<void>()
  let otherMoves: Promise<unknown>
  const { writer, mover, openMover, id } = await openWith('0-511', (call, shards) => {
    const made = stepOf(call)
    const { leaving, coming } = servesOf(call)
    if (step === 'seal' && made === 'seal') {
      step = 'copy'
      // The entity is copied under the seal.
      return { before: async () => void (await writer.put({ n: 2 }, { id })) }
    }
    if (step === 'copy' && made === 'receive') {
      step = 'begin'
      return { before: () => shards.hang(1) }
    }
    if (step === 'begin' && made === 'begin') {
      step = 'lost'
      return { before: () => shards.crash(1) }
    }
    if (step === 'lost' && leaving !== undefined) {
      step = 'copied'
      // The first mover is suspended, and the other one copies the entity.
      return {
        async before() {
          otherMoves = resumeMoves(await openMover(), { groups: 2, leaseMs: 1 })
          await copied.promise
        },
      }
    }
    if (step === 'copied' && made === 'receive') {
      step = 'left'
      return {
        async after() {
          copied.resolve()
          await left.promise
        },
      }
    }
    if (step === 'left' && coming !== undefined) {
      step = 'taken over'
      // The first mover is suspended once more, and the other one dies when it has handed a group over.
      return {
        async before() {
          left.resolve()
          await expect(otherMoves).rejects.toMatchObject({ code: 'CLOSED' })
          await writer.put({ n: 3 }, { id })
        },
      }
    }
    if (step !== 'taken over' || made !== 'begin') return undefined
    step = 'over'
    return {
      after() {
        throw new LooseleafError('CLOSED', 'The other mover has died.')
      },
    }
  })
  expect(await moveBuckets(mover, PLAN, { groups: 1, leaseMs: 1 })).toMatchObject({ state: 'done' })
  expect(step).toBe('over')
  expect(await mover.get(id)).toMatchObject({ n: 3 })
})
