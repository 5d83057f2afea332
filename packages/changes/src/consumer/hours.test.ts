import { parseId, type EntityId } from '@looseleaf/core'
import { idOn } from '@looseleaf-tooling/kit/id-on'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Hours, type Process } from '../../test/hours.ts'
import { gone } from '../../test/search.ts'
import { readDeadLetters } from '../report/manage-consumers.ts'
import { readConsumers } from '../report/read-consumers.ts'
import type { ChangedEntity } from './changed-entity.ts'

/* Scenarios of minutes and hours, on a simulated clock. */

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

let hours: Hours
let processA: Process
/** Changes of all processes, in the order in which their handlers began. */
let begun: (Pick<ChangedEntity, 'id' | 'version' | 'entity'> & { readonly by: Process })[]

beforeEach(async () => {
  hours = new Hours()
  processA = await hours.start()
  begun = []
})
afterEach(() => hours.end())

const keepBy = (by: Process) => (change: ChangedEntity) => void begun.push({ ...change, by })

/** Returns the last version of each entity for which a handler began. */
const last = (): Map<EntityId, number> => new Map(begun.map(({ id, version }) => [id, version]))

/** Returns the changes whose handler began after that of a newer version of the same entity. */
function outOfOrder(): typeof begun {
  const newest = new Map<EntityId, number>()
  return begun.filter(({ id, version }) => {
    const known = newest.get(id) ?? 0
    newest.set(id, Math.max(known, version))
    return version < known
  })
}

const putOn = async (shard: number, by: Process = processA): Promise<EntityId> =>
  (await by.store.put({}, { id: idOn(by.store, shard) })).id

const putMany = (count: number, by: Process = processA): Promise<EntityId[]> =>
  Promise.all(Array.from({ length: count }, async (_, n) => (await by.store.put({ n })).id))

const lags = (by: Process): number[] => by.consumers[0]!.status().shards.map(({ lagMs = NaN }) => lagMs)

it('a process that was paused for minutes begins no change that others took over, and gets its share again', async () => {
  const processB = await hours.start()
  const ids = await putMany(100)
  processA.consume(
    async (change) => {
      keepBy(processA)(change)
      await processA.time.sleep(100)
    },
    { concurrency: 2 },
  )
  await hours.pass(SECOND)
  expect(begun.length).toBeGreaterThan(5)
  expect(begun.length).toBeLessThan(50)
  // The process stops in the middle of a page.
  processA.pause()
  processB.consume(keepBy(processB))
  const before = begun.length
  await hours.pass(10 * SECOND)
  expect(begun).toHaveLength(before)
  await hours.pass(MINUTE)
  expect(last().size).toBe(100)
  const versions = new Map<EntityId, number>()
  for (const id of ids) versions.set(id, (await processB.store.put({ n: 'later' }, { id })).version)
  await hours.pass(4 * MINUTE)
  expect(last()).toEqual(versions)
  processA.resume()
  await hours.pass(MINUTE)
  expect(outOfOrder()).toEqual([])
  for (const id of ids) versions.set(id, (await processB.store.put({ n: 'last' }, { id })).version)
  await hours.pass(10 * SECOND)
  expect(last()).toEqual(versions)
  expect(outOfOrder()).toEqual([])
  for (const { consumers } of [processA, processB])
    expect(consumers[0]!.status().shards.map(({ partitions }) => partitions)).toEqual([4, 4])
})

it('a process that dies between raising the floor and reading leaves the changes below the floor to others', async () => {
  processA.consume(keepBy(processA))
  await hours.pass(10 * SECOND)
  let raised: number | undefined
  hours.plan = ({ shard, operation }) => {
    if (shard !== 0 || operation !== 'raiseFloor' || raised !== undefined) return undefined
    return {
      after() {
        raised = hours.servers.shards[0]!.entities.floorNow
        processA.pause()
        return processA.running
      },
    }
  }
  const processB = await hours.start()
  const id = await putOn(0, processB)
  await hours.pass(2 * SECOND)
  expect(hours.servers.shards[0]!.entities.current(parseId(id))!.updated).toBeLessThan(raised!)
  expect(last().has(id)).toBe(false)
  processB.consume(keepBy(processB))
  await hours.pass(20 * SECOND)
  expect(begun.filter((change) => change.id === id).map(({ by }) => by)).toEqual([processB])
})

it('a shard that is down for a minute delays only its own changes, and errors and reports name it', async () => {
  const errors: unknown[] = []
  processA.consume(keepBy(processA), { onError: (error) => void errors.push(error) })
  await putOn(1)
  await hours.pass(5 * SECOND)
  // The writing process reaches both shards.
  const other = await hours.start()
  hours.plan = ({ shard }) => (shard === 1 ? gone : undefined)
  for (let second = 0; second < 60; second++) {
    const id = await putOn(0, other)
    await hours.pass(SECOND)
    expect(last().has(id)).toBe(true)
  }
  expect(lags(processA)[0]).toBeLessThan(SECOND)
  expect(lags(processA)[1]).toBeGreaterThan(55 * SECOND)
  const [report] = await readConsumers(processA.store)
  expect(report!.shards).toMatchObject([
    { name: 'reference shard 0', error: undefined },
    { name: 'reference shard 1', error: { code: 'SHARD_UNAVAILABLE' } },
  ])
  expect(errors.length).toBeGreaterThan(10)
  expect(new Set(errors.map((error) => (error as { shard: string }).shard))).toEqual(new Set(['memory 1']))
  hours.plan = () => undefined
  const missed = await Promise.all(Array.from({ length: 10 }, () => putOn(1, other)))
  await hours.pass(5 * SECOND)
  expect(missed.filter((id) => !last().has(id))).toEqual([])
  expect(Math.max(...lags(processA))).toBeLessThan(SECOND)
})

it('a change whose handler always fails is retried for two and a half hours, while others proceed, and then becomes a dead letter', async () => {
  const bad = await putOn(0)
  const attempts: number[] = []
  processA.consume(
    (change) => {
      if (change.id !== bad) return keepBy(processA)(change)
      attempts.push(hours.clock)
      throw new Error('never')
    },
    { pollMs: 5 * SECOND },
  )
  for (let quarter = 0; quarter < 9; quarter++) {
    const id = await putOn(0)
    await hours.pass(15 * MINUTE)
    expect(last().has(id)).toBe(true)
  }
  expect(await readDeadLetters(processA.store, 'search')).toEqual([])
  await hours.pass(HOUR / 2)
  const [letter, ...others] = await readDeadLetters(processA.store, 'search')
  expect(others).toEqual([])
  expect(letter).toMatchObject({ id: bad, attempts: 40, error: 'never' })
  expect(attempts).toHaveLength(40)
  const between = attempts.slice(1).map((at, i) => at - attempts[i]!)
  expect(Math.max(...between)).toBeLessThan(5 * MINUTE + 10 * SECOND)
  expect(attempts.at(-1)! - attempts[0]!).toBeGreaterThan(2.5 * HOUR)
  expect(letter!.failedAt.getTime()).toBe(processA.time.now() - hours.clock + attempts.at(-1)!)
})

it('an engine that is down for an hour causes no dead letters, and has every change five minutes after it is back', async () => {
  let isDown = true
  const consumer = processA.consume(
    (change) => {
      if (isDown) throw new Error('The engine is down.')
      keepBy(processA)(change)
    },
    { pollMs: 5 * SECOND },
  )
  await hours.pass(10 * SECOND)
  // More changes than can be failing at once.
  await putMany(2_500)
  await hours.pass(HOUR)
  expect(consumer.status().shards.map(({ failing }) => failing)).toEqual([800, 800])
  isDown = false
  await hours.pass(5 * MINUTE + 30 * SECOND)
  expect(last().size).toBe(2_500)
  expect(consumer.status()).toMatchObject({ handled: 2_500, deadLettered: 0 })
  expect(await readDeadLetters(processA.store, 'search')).toEqual([])
})

it('a consumer slower than the writes for an hour reports a growing lag, and has the latest states soon after', async () => {
  const ids = await putMany(100)
  const consumer = processA.consume(
    async (change) => {
      keepBy(processA)(change)
      await processA.time.sleep(2 * SECOND)
    },
    { concurrency: 1, pollMs: 5 * SECOND },
  )
  const versions = new Map<EntityId, number>()
  let [written, most] = [0, 0]
  for (const end = hours.clock + HOUR; hours.clock < end;) {
    for (let n = 0; n < 10; n++) {
      const id = ids[written++ % ids.length]!
      versions.set(id, (await processA.store.put({ written }, { id })).version)
    }
    await hours.pass(10 * SECOND)
    const [report] = await readConsumers(processA.store)
    most = Math.max(most, ...report!.shards.map(({ lagMs = NaN }) => lagMs).filter(Number.isFinite))
  }
  expect(written).toBe(3_600)
  expect(consumer.status().handled).toBeLessThan(written * 0.6)
  expect(consumer.status().handled).toBeGreaterThan(written * 0.25)
  expect(most).toBeGreaterThan(30 * SECOND)
  await hours.pass(6 * MINUTE)
  expect(last()).toEqual(versions)
  expect(outOfOrder()).toEqual([])
  expect(Math.max(...lags(processA))).toBeLessThan(10 * SECOND)
})

it('clocks of processes and servers that are an hour off, and are set while the consumer runs, neither delay nor lose changes', async () => {
  const processB = await hours.start()
  processA.offMs = HOUR
  processB.offMs = -HOUR
  hours.serverOffMs[0] = -HOUR
  hours.serverOffMs[1] = HOUR
  processA.consume(keepBy(processA))
  processB.consume(keepBy(processB))
  const ids = await putMany(40)
  const versions = new Map<EntityId, number>()
  /** Both processes write in turns, and all changes are handled within two seconds. */
  const round = async (): Promise<void> => {
    for (const [i, id] of ids.entries())
      versions.set(
        id,
        (await (i % 2 === 0 ? processA : processB).store.put({ at: hours.clock }, { id })).version,
      )
    await hours.pass(2 * SECOND)
    expect(last()).toEqual(versions)
    expect(Math.max(...lags(processA), ...lags(processB))).toBeLessThan(2 * SECOND)
  }
  await hours.pass(MINUTE)
  await round()
  // One server clock goes back an hour, the other one ahead.
  hours.serverOffMs[0] = -2 * HOUR
  hours.serverOffMs[1] = 2 * HOUR
  processA.offMs = -HOUR
  processB.offMs = HOUR
  await round()
  await hours.pass(MINUTE)
  await round()
  hours.serverOffMs[0] = 0
  hours.serverOffMs[1] = 0
  await round()
  await hours.pass(MINUTE)
  // The floor of this shard is still near this time.
  hours.serverOffMs[1] = 2 * HOUR
  await round()
  expect(outOfOrder()).toEqual([])
})

it('another process takes over the partitions of one that died while the server clocks were two hours ahead, once the clocks are right', async () => {
  processA.consume(keepBy(processA))
  await putMany(10)
  await hours.pass(10 * SECOND)
  hours.serverOffMs.fill(2 * HOUR)
  await hours.pass(MINUTE)
  processA.pause()
  hours.serverOffMs.fill(0)
  const processB = await hours.start()
  processB.consume(keepBy(processB))
  const ids = await putMany(20, processB)
  await hours.pass(20 * SECOND)
  expect(begun.filter(({ by }) => by === processB).map(({ id }) => id)).toEqual(expect.arrayContaining(ids))
  expect(Math.max(...lags(processB))).toBeLessThan(SECOND)
})

it('another process takes over the partitions of one that died while the server clocks were two hours behind, once the clocks are right', async () => {
  hours.serverOffMs.fill(-2 * HOUR)
  processA.consume(keepBy(processA))
  await putMany(10)
  await hours.pass(MINUTE)
  processA.pause()
  hours.serverOffMs.fill(0)
  const processB = await hours.start()
  processB.consume(keepBy(processB))
  const ids = await putMany(20, processB)
  await hours.pass(20 * SECOND)
  expect(begun.filter(({ by }) => by === processB).map(({ id }) => id)).toEqual(expect.arrayContaining(ids))
})

it('the lag of a stopped consumer is unknown after the server clock was ahead, until the clock has caught up', async () => {
  const consumer = processA.consume(keepBy(processA))
  await putMany(20)
  hours.serverOffMs.fill(2 * HOUR)
  await hours.pass(MINUTE)
  await consumer.stop()
  hours.serverOffMs.fill(0)
  await putMany(20)
  const lagsNow = async () => (await readConsumers(processA.store))[0]!.shards.map(({ lagMs }) => lagMs)
  await hours.pass(HOUR)
  expect(await lagsNow()).toEqual([undefined, undefined])
  await hours.pass(2 * HOUR)
  for (const lagMs of await lagsNow()) expect(lagMs).toBeGreaterThan(HOUR / 2)
})

it('a failover that loses the last seconds loses only their changes, and later writes are handled', async () => {
  const [first, second] = [await putOn(0), await putOn(0)]
  processA.consume(keepBy(processA))
  await hours.pass(10 * SECOND)
  const server = hours.servers.shards[0]!
  const before = server.state()
  // These writes are handled, then lost together with the saved places.
  const { version: lost } = await processA.store.put({ n: 'lost' }, { id: first })
  const lostId = await putOn(0)
  await hours.pass(3 * SECOND)
  expect(last().get(first)).toBe(lost)
  expect(last().has(lostId)).toBe(true)
  server.fallBack(before, 'everything')
  // Written at once, so that these writes get the times of the lost ones.
  const again = await processA.store.put({ n: 'again' }, { id: second })
  const added = await putOn(0)
  await hours.pass(3 * SECOND)
  expect(last().get(second)).toBe(again.version)
  expect(last().has(added)).toBe(true)
  const { version } = await processA.store.put({ n: 'newer' }, { id: first })
  await hours.pass(3 * SECOND)
  expect(last().get(first)).toBe(version)
  expect(Math.max(...lags(processA))).toBeLessThan(SECOND)
})

it('changes that fail slowly delay others only briefly, and all of them are retried', async () => {
  const attempts = new Map<EntityId, number>((await putMany(32)).map((id) => [id, 0]))
  const waits: number[] = []
  const writtenAt = new Map<EntityId, number>()
  let [retries, most] = [0, 0]
  processA.consume(async ({ id, attempt }) => {
    const tried = attempts.get(id)
    if (tried === undefined) return void waits.push(hours.clock - writtenAt.get(id)!)
    attempts.set(id, tried + 1)
    if (attempt > 1) most = Math.max(most, ++retries)
    await processA.time.sleep(4 * SECOND)
    if (attempt > 1) retries--
    throw new Error('timed out')
  })
  // By now each change has failed once, and all further attempts are retries.
  await hours.pass(20 * SECOND)
  let written = 0
  for (const end = hours.clock + 2 * MINUTE; hours.clock < end; written++) {
    const id = processA.store.newId()
    writtenAt.set(id, hours.clock)
    await processA.store.put({}, { id })
    await hours.pass(SECOND / 4)
  }
  await hours.pass(10 * SECOND)
  waits.sort((a, b) => a - b)
  expect(waits).toHaveLength(written)
  expect(waits[Math.floor(written / 2)]).toBeLessThan(SECOND)
  expect(waits.at(-1)).toBeLessThan(12 * SECOND)
  expect(most).toBe(4)
  expect(Math.min(...attempts.values())).toBeGreaterThan(1)
})

it('changes that fail at once and are retried at once take turns in all partitions, and others proceed', async () => {
  const attempts = new Map<EntityId, number>((await putMany(1_500)).map((id) => [id, 0]))
  const consumer = processA.consume(
    async (change) => {
      const tried = attempts.get(change.id)
      if (tried === undefined) return keepBy(processA)(change)
      await processA.time.sleep(50)
      attempts.set(change.id, tried + 1)
      throw new Error('refused')
    },
    { retryMs: 0, concurrency: 100, maxAttempts: 1_000 },
  )
  await hours.pass(20 * SECOND)
  const ids = await putMany(50)
  await hours.pass(20 * SECOND)
  expect(Math.min(...attempts.values())).toBeGreaterThan(3)
  expect(ids.filter((id) => !last().has(id))).toEqual([])
  expect(consumer.status().shards.every(({ failing }) => failing > 700)).toBe(true)
})
