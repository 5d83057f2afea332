import { createReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import type { TaskTable } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { beforeEach, expect, test } from 'vitest'
import { copyRegistrations } from './copy-registrations.ts'
import { REGISTRY_TASK, registryFromText, registryToText, type Registration } from './registrations.ts'

const registered = (incarnation: string, at: number, floors: readonly number[] = []): Registration => ({
  incarnation,
  at,
  kinds: undefined,
  begun: [],
  floors,
})
type Known = Readonly<Record<string, Registration>>
const textOf = (known: Known): string => registryToText(new Map(Object.entries(known)))

const MAIL = registered('a', 5)
const SEARCH = registered('b', 6)

let time: ReturnType<typeof leapingTime>
let tasks: TaskTable[]
let context: EngineContext
let calls: string[]
/** Runs before a flush of this shard. */
let onFlush: (shard: number) => Promise<void> | undefined

beforeEach(() => {
  time = leapingTime()
  const driver = createReferenceDriver({ shards: 4, now: () => time.now() * 1_000 })
  tasks = driver.shards.map((shard) => ({ ...shard.tasks }))
  calls = []
  onFlush = () => undefined
  const shards = tasks.map((table, number) => ({
    name: `shard ${number}`,
    tasks: table,
    async flush() {
      const known = knownOn(number)
      await onFlush(number)
      await new Promise((resolve) => setImmediate(resolve))
      const names = Object.keys(await known).toSorted()
      calls.push(`flush ${number} with ${names.join()}`)
    },
  }))
  let ids = 0
  context = {
    driver: { shards, removed: new Set([3]) },
    time,
    random: { uuid: () => `owner ${ids++}` },
  } as unknown as EngineContext
})

const knownOn = async (shard: number): Promise<Known> =>
  Object.fromEntries(registryFromText((await tasks[shard]!.load(REGISTRY_TASK))?.progress ?? ''))

/** Replaces the registry of a shard, as another process. */
async function put(shard: number, known: Known): Promise<void> {
  await tasks[shard]!.claim(REGISTRY_TASK, 'other', 1_000)
  expect(await tasks[shard]!.save(REGISTRY_TASK, 'other', textOf(known), 0)).toBe(true)
}

/** Runs something before the first flush of shard 0. */
function once(work: () => Promise<void>): void {
  let isFirst = true
  onFlush = (shard) => {
    if (shard !== 0 || !isFirst) return undefined
    isFirst = false
    return work()
  }
}

test('the consumers of a shard are on all others, durably, and a later registration stays', async () => {
  const later = registered('c', 7)
  await put(0, { mail: later })
  await put(1, { mail: MAIL, search: SEARCH })
  const owners: unknown[] = []
  once(async () => void owners.push((await tasks[1]!.load(REGISTRY_TASK))?.owner))
  await copyRegistrations(context, 1, {})
  expect(await knownOn(0)).toEqual({ mail: later, search: SEARCH })
  expect(await knownOn(2)).toEqual({ mail: MAIL, search: SEARCH })
  expect(await tasks[3]!.load(REGISTRY_TASK)).toBeUndefined()
  expect(calls.toSorted()).toEqual(['flush 0 with mail,search', 'flush 2 with mail,search'])
  // The lease lasts until the copies stand, and ends then.
  expect(owners).toEqual(['owner 0'])
  expect(await tasks[1]!.load(REGISTRY_TASK)).toEqual({
    progress: textOf({ mail: MAIL, search: SEARCH }),
    owner: undefined,
  })
})

test('a shard without consumers has nothing to copy', async () => {
  await put(0, { mail: MAIL })
  await copyRegistrations(context, 1, {})
  expect(calls).toEqual([])
  expect(await knownOn(0)).toEqual({ mail: MAIL })
  expect(await knownOn(2)).toEqual({})
})

test('the copies wait until no other process edits the consumers of the shard', async () => {
  await put(1, { mail: MAIL })
  await tasks[1]!.claim(REGISTRY_TASK, 'other', 2_000)
  await copyRegistrations(context, 1, {})
  expect(time.slept).toBe(2_000)
  expect(await knownOn(2)).toEqual({ mail: MAIL })
  await tasks[1]!.claim(REGISTRY_TASK, 'other', 60_000)
  await expect(copyRegistrations(context, 1, {})).rejects.toMatchObject({
    code: 'SHARD_BUSY',
    shard: 'shard 1',
  })
})

test('the copy of a consumer that was dropped after the end of the lease is taken back', async () => {
  await put(1, { mail: MAIL, search: SEARCH })
  await put(2, { other: registered('d', 1) })
  const complete = registered('b', 6, [3])
  once(async () => {
    time.leap(60_001)
    await put(1, { search: SEARCH })
    await put(2, { mail: MAIL, search: complete, other: registered('d', 1) })
  })
  await copyRegistrations(context, 1, {})
  expect(await knownOn(0)).toEqual({ search: SEARCH })
  expect(await knownOn(2)).toEqual({ search: complete, other: registered('d', 1) })
  expect(calls).toHaveLength(4)
})

test('a consumer that the others knew before is not taken back', async () => {
  for (const shard of [0, 1, 2]) await put(shard, { mail: MAIL })
  once(async () => {
    time.leap(60_001)
    await put(1, {})
  })
  await copyRegistrations(context, 1, {})
  expect(await knownOn(0)).toEqual({ mail: MAIL })
  expect(calls).toHaveLength(2)
})

test('copies under a lease that may have ended are made again', async () => {
  await put(1, { mail: MAIL })
  const table = { ...tasks[1]! }
  let saves = 0
  tasks[1]!.save = async (...args) => {
    if (saves++ === 0) throw new Error('lost')
    return table.save(...args)
  }
  await copyRegistrations(context, 1, {})
  expect(calls.toSorted()).toEqual(
    ['flush 0', 'flush 0', 'flush 2', 'flush 2'].map((call) => `${call} with mail`),
  )
  expect(await tasks[1]!.load(REGISTRY_TASK)).toEqual({ progress: textOf({ mail: MAIL }), owner: undefined })
})
