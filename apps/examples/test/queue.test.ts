import { countNear, DataStore, memoryShards } from 'looseleaf'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { indexes, Job } from '../src/queue/kinds.ts'
import { createQueue, type JobItem, type Queue, type QueueOptions } from '../src/queue/queue.ts'
import { work } from '../src/queue/worker.ts'

let now: number
let store: DataStore
let queue: Queue
const options: QueueOptions = {
  stripes: 4,
  leaseMs: 10_000,
  maxAttempts: 3,
  backOffMs: 1_000,
  now: () => now,
}

beforeEach(async () => {
  now = Date.now()
  store = await DataStore.open({ shards: memoryShards(2), indexes, migrate: true })
  queue = createQueue(store, 'mail', options)
})
afterEach(() => store.close())

async function takeAll(): Promise<JobItem[]> {
  const stripes = await Promise.all(
    Array.from({ length: queue.stripes }, (_, stripe) => queue.take(stripe, 100)),
  )
  return stripes.flat()
}

test('several workers do each job once', async () => {
  for (let i = 0; i < 60; i++) await queue.add(`job ${i}`, `task ${i}`)
  const done: string[] = []
  const stop = new AbortController()
  const handle = async ({ task }: JobItem): Promise<void> => void done.push(task)
  const workers = Array.from({ length: 5 }, () =>
    work(queue, { handle, signal: stop.signal, atOnce: 3, idleMs: 1 }),
  )
  await vi.waitUntil(async () => (await queue.size()) === 0, { timeout: 60_000 })
  stop.abort()
  await Promise.all(workers)
  expect(done.toSorted()).toEqual(Array.from({ length: 60 }, (_, i) => `task ${i}`).toSorted())
})

test('a job that is added again is in the queue once, until it is done', async () => {
  const id = await queue.add('a', 'first')
  expect(await queue.add('a', 'again')).toBe(id)
  expect(await queue.size()).toBe(1)
  const [job] = await takeAll()
  expect(job).toMatchObject({ id, task: 'first', attempts: 1 })
  expect(await queue.finish(job!)).toBe(true)
  expect(await queue.add('a', 'later')).toBe(id)
  expect((await takeAll())[0]).toMatchObject({ task: 'later' })
})

test('a job is not taken before its delay has passed, and jobs come in the order of their due times', async () => {
  queue = createQueue(store, 'mail', { ...options, stripes: 1 })
  for (const delayMs of [300, 100, 200]) await queue.add(`${delayMs}`, `${delayMs}`, { delayMs })
  now += 99
  expect(await takeAll()).toEqual([])
  now += 101
  expect((await takeAll()).map(({ task }) => task)).toEqual(['100', '200'])
})

test('a job in work is not taken again before its lease ends, and then its first worker cannot finish it', async () => {
  await queue.add('a', 'x')
  const [first] = await takeAll()
  now += options.leaseMs - 1
  expect(await takeAll()).toEqual([])
  now += 1
  const [second] = await takeAll()
  expect(second).toMatchObject({ id: first!.id, attempts: 2 })
  expect(await queue.finish(first!)).toBe(false)
  expect(await queue.fail(first!, 'late')).toBeUndefined()
  expect(await queue.extend(first!)).toBeUndefined()
  expect(await queue.finish(second!)).toBe(true)
  expect(await queue.size()).toBe(0)
})

test('a failed job comes again after pauses that double, and is a dead letter after its last attempt', async () => {
  const id = await queue.add('a', 'x')
  for (const [attempt, pause] of [1_000, 2_000].entries()) {
    const [job] = await takeAll()
    expect(job).toMatchObject({ id, attempts: attempt + 1 })
    await queue.fail(job!, `failure ${attempt + 1}`)
    now += pause - 1
    expect(await takeAll()).toEqual([])
    now += 1
  }
  const [last] = await takeAll()
  await queue.fail(last!, 'failure 3')
  now += 1_000_000
  expect(await takeAll()).toEqual([])
  const [dead] = await queue.deadLetters()
  expect(dead).toMatchObject({ id, attempts: 3, failure: 'failure 3', due: null })
  await queue.revive(dead!)
  expect(await queue.deadLetters()).toEqual([])
  expect((await takeAll())[0]).toMatchObject({ id, attempts: 1 })
})

test('a job that ends its worker at every attempt becomes a dead letter, and is not given to further workers', async () => {
  const id = await queue.add('a', 'x')
  for (let attempt = 1; attempt <= options.maxAttempts; attempt++) {
    expect(await takeAll()).toMatchObject([{ id, attempts: attempt }])
    now += options.leaseMs
  }
  expect(await takeAll()).toEqual([])
  expect(await queue.deadLetters()).toMatchObject([
    { id, failure: 'Its last worker neither finished it nor reported a failure.' },
  ])
})

test('a worker prolongs the lease of long work, and other workers leave the job to it', async () => {
  const short = createQueue(store, 'mail', { ...options, leaseMs: 60 })
  const id = await short.add('a', 'x')
  let runs = 0
  const stop = new AbortController()
  const handle = async (): Promise<void> => {
    runs++
    // Four leases long, by the clock of the queue.
    for (let step = 0; step < 5; step++) {
      now += 50
      await vi.waitUntil(async () => (await Job.in(store).get(id))?.due?.getTime() === now + 60, {
        timeout: 60_000,
      })
      for (let stripe = 0; stripe < short.stripes; stripe++) expect(await short.take(stripe, 10)).toEqual([])
    }
  }
  const worker = work(short, { handle, signal: stop.signal, idleMs: 20 })
  await vi.waitUntil(async () => (await short.size()) === 0, { timeout: 60_000 })
  stop.abort()
  await worker
  expect(runs).toBe(1)
  expect(await short.deadLetters()).toEqual([])
})

test('the handler of a job whose lease was lost is told, and changes nothing', async () => {
  const short = createQueue(store, 'mail', { ...options, leaseMs: 60 })
  const id = await short.add('a', 'x')
  const stop = new AbortController()
  const lost = Promise.withResolvers<unknown>()
  const handle = async (_: JobItem, signal: AbortSignal): Promise<void> => {
    // An operator makes a dead letter of it.
    await Job.in(store).update(id, { due: null, died: new Date() })
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    lost.resolve(signal.reason)
  }
  const worker = work(short, { handle, signal: stop.signal, idleMs: 1 })
  expect(String(await lost.promise)).toContain('The lease of the job was lost.')
  stop.abort()
  await worker
  expect(await short.deadLetters()).toMatchObject([{ id, failure: null }])
})

test('all jobs are near their index rows, and the stripes of a queue are on several shards', async () => {
  for (let i = 0; i < 40; i++) await queue.add(`job ${i}`, 'x')
  const { kinds } = await countNear(store, [Job])
  expect(kinds['job']).toMatchObject({
    entities: 40,
    atPlace: 40,
    indexes: { job_by_due: { rows: 40, near: 40, local: 40 } },
  })
  const stripes = new Set((await takeAll()).map(({ id }) => id.slice(15, 18)))
  expect(stripes.size).toBe(4)
})
