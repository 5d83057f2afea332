import { afterEach, beforeEach, expect, it } from 'vitest'
import { parseId } from '@looseleaf/core'
import { Hours, type Process } from '../../test/hours.ts'

/* Statements of the rounds of a consumer, on a simulated clock. */

const SECOND = 1_000

let hours: Hours
let process: Process

beforeEach(async () => {
  hours = new Hours()
  process = await hours.start()
})
afterEach(() => hours.end())

it('a consumer that has handled all changes of a short page reads the next page after its pause', async () => {
  const readAt: number[] = []
  hours.plan = ({ shard, operation, args }) => {
    const { maxBody } = (args[2] ?? {}) as { readonly maxBody?: number }
    if (shard === 0 && operation === 'pageOfChanges' && maxBody !== 0) readAt.push(hours.clock)
    return undefined
  }
  let handled = 0
  process.consume(() => void handled++, { pollMs: SECOND })
  await hours.pass(5 * SECOND)
  await Promise.all(Array.from({ length: 20 }, (_, n) => process.store.put({ n })))
  await hours.pass(5 * SECOND)
  expect(handled).toBe(20)
  expect(readAt.length).toBeGreaterThan(9)
  expect(readAt).toEqual([...new Set(readAt)])
})

/** Counts the calls of this operation on the tasks of the first shard during this time. */
async function countDuring(milliseconds: number, operation: string): Promise<number> {
  let count = 0
  hours.plan = (call) => void (call.shard === 0 && call.operation === operation && count++)
  await hours.pass(milliseconds)
  hours.plan = () => undefined
  return count
}

it.each([100, SECOND])(
  'an idle consumer saves the places of a shard once a second, with reads every %i ms',
  async (pollMs) => {
    process.consume(() => {}, { pollMs })
    await hours.pass(10 * SECOND)
    const saves = await countDuring(30 * SECOND, 'saveAll')
    expect(saves).toBeGreaterThan(25)
    expect(saves).toBeLessThanOrEqual(31)
  },
)

it('a consumer with short leases saves its places, and looks for partitions, three times per lease', async () => {
  process.consume(() => {}, { pollMs: 20, leaseMs: 600 })
  await hours.pass(SECOND)
  const saves = await countDuring(10 * SECOND, 'saveAll')
  expect(saves).toBeGreaterThan(42)
  expect(saves).toBeLessThanOrEqual(51)
  // Each look reads the shares and the letters.
  const looks = (await countDuring(10 * SECOND, 'loadAll')) / 2
  expect(looks).toBeGreaterThan(42)
  expect(looks).toBeLessThanOrEqual(51)
})

it('a consumer looks for free partitions every two seconds', async () => {
  process.consume(() => {}, { pollMs: 100 })
  await hours.pass(SECOND)
  const looks = (await countDuring(60 * SECOND, 'loadAll')) / 2
  expect(looks).toBeGreaterThan(27)
  expect(looks).toBeLessThanOrEqual(31)
})

it('full pages follow each other at once, and a process without partitions looks for some within seconds, however rarely it polls', async () => {
  const options = { pollMs: 600 * SECOND }
  await process.store.putMany(Array.from({ length: 2_400 }, (_, n) => ({ n })))
  const first = process.consume(() => {}, options)
  await hours.pass(5 * SECOND)
  expect(first.status().handled).toBe(2_400)
  const other = await hours.start()
  const joined = other.consume(() => {}, options)
  await hours.pass(SECOND)
  expect(joined.status().shards.map(({ partitions }) => partitions)).toEqual([0, 0])
  const stopping = first.stop()
  await hours.pass(5 * SECOND)
  await stopping
  expect(joined.status().shards.map(({ partitions }) => partitions)).toEqual([8, 8])
})

it('a consumer with slow handlers reads short pages, and long ones again once they are fast', async () => {
  const limits: number[] = []
  hours.plan = ({ shard, operation, args }) => {
    const { maxBody } = (args[2] ?? {}) as { readonly maxBody?: number }
    if (shard === 0 && operation === 'pageOfChanges' && maxBody !== 0) limits.push(args[1] as number)
    return undefined
  }
  let isSlow = true
  await process.store.putMany(Array.from({ length: 1_200 }, (_, n) => ({ n })))
  const consumer = process.consume(
    async () => {
      if (isSlow) await process.time.sleep(SECOND / 2)
    },
    { concurrency: 1 },
  )
  await hours.pass(60 * SECOND)
  expect([limits[0], Math.min(...limits)]).toEqual([500, 16])
  isSlow = false
  await hours.pass(60 * SECOND)
  expect(consumer.status().handled).toBe(1_200)
  expect([limits.at(-1), Math.max(...limits)]).toEqual([500, 500])
})

it('a process that was paused past a purge goes on if others have handled the purged deletions', async () => {
  const { id } = await process.store.put({ n: 1 })
  const errors: unknown[] = []
  const consumer = process.consume(() => {}, { onError: (error) => void errors.push(error) })
  await hours.pass(10 * SECOND)
  process.pause()
  const other = await hours.start()
  const deleted: string[] = []
  other.consume((change) => void (change.entity === undefined && deleted.push(change.id)))
  await other.store.delete(id)
  await hours.pass(60 * SECOND)
  expect(deleted).toEqual([id])
  const key = parseId(id)
  const { entities } = hours.servers.shards[other.store.context.router.shardOfId(key)]!
  const [row] = await entities.read([key])
  const { epoch } = await entities.floor()
  await entities.raisePurged({ updated: row!.updated + 1, version: row!.version + 1 }, { epoch })
  await entities.purge([key])
  process.resume()
  await hours.pass(20 * SECOND)
  expect(consumer.status().isRunning).toBe(true)
  expect(errors).toEqual([])
  for (const { status } of [consumer, other.consumers[0]!])
    expect(status().shards.map(({ partitions }) => partitions)).toEqual([4, 4])
})
