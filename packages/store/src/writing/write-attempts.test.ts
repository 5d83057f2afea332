import { LooseleafError, parseId, type Driver, type EntityId, type Time } from '@looseleaf/core'
import { systemTime } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { type Fault, type FaultPlan, faultyDriver, keepOpen, unknownOutcome } from '@looseleaf/testkit'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { DataStore } from '../data-store.ts'

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })

let memory: Driver
let rival: DataStore
let id: EntityId
let plan: FaultPlan
/** Milliseconds of each pause between attempts. */
let pauses: number[]
/** Milliseconds. Only tests move the clock. */
let now: number

/** A clock whose sleeps end at once and take no time. */
const time: Time = {
  now: () => now,
  async sleep(milliseconds, signal) {
    // Sleeps with a signal belong to the deletes of lost rows.
    if (signal === undefined) pauses.push(milliseconds)
  },
}

function open(options: { writeTimeoutMs?: number; time?: Time } = {}): Promise<DataStore> {
  return DataStore.open({ shards: keepOpen(faultyDriver(memory, (call) => plan(call))), time, ...options })
}

/** Makes commits of the store lose a race to another process this many times, after `tookMs` each. */
function losing(times: number, tookMs = 0): { readonly attempts: number } {
  let attempts = 0
  plan = ({ operation }) => {
    if (operation !== 'replace' || ++attempts > times) return undefined
    return {
      async before() {
        now += tookMs
        await rival.put({ name: `rival ${attempts}` }, { id })
      },
    }
  }
  return {
    get attempts() {
      return attempts
    },
  }
}

/** Makes every commit lose its answer. The fault calls `land` to let 20 seconds pass. */
function unanswered(fault: (land: () => void) => Fault): { readonly attempts: number } {
  let attempts = 0
  plan = ({ operation }) => {
    if (operation !== 'replace') return undefined
    attempts++
    return fault(() => (now += 20_000))
  }
  return {
    get attempts() {
      return attempts
    },
  }
}

beforeEach(async () => {
  memory = await memoryShards(2).connect()
  rival = await DataStore.open({ shards: keepOpen(memory), indexes: [byName], migrate: true })
  id = (await rival.put({ name: 'first' })).id
  plan = () => undefined
  pauses = []
  now = Date.now()
})
afterEach(async () => {
  vi.restoreAllMocks()
  await memory.close()
})

describe('lost races', () => {
  it('a pause of up to 4, 8, 16, 32, 64, then 100 ms follows each lost race from the third on', async () => {
    const store = await open()
    vi.spyOn(Math, 'random').mockReturnValue(0.5)
    const race = losing(8)
    await store.put({ name: 'mine' }, { id })
    expect(race.attempts).toBe(9)
    expect(pauses).toEqual([2, 4, 8, 16, 32, 50])
    expect(await store.get(id)).toEqual({ id, name: 'mine' })
  })

  it('pauses after lost races have random lengths, so that rivals do not meet again', async () => {
    const store = await open()
    losing(20)
    await store.put({ name: 'mine' }, { id })
    expect(pauses).toHaveLength(18)
    expect(new Set(pauses).size).toBeGreaterThan(9)
    for (const pause of pauses) expect(pause).toBeLessThanOrEqual(100)
  })

  it('a write rejects with CONFLICT after 64 lost races, without a pause after the last', async () => {
    const store = await open()
    const race = losing(Infinity)
    await expect(store.put({ name: 'mine' }, { id })).rejects.toMatchObject({
      code: 'CONFLICT',
      retryable: true,
      unknownOutcome: false,
    })
    expect(race.attempts).toBe(64)
    expect(pauses).toHaveLength(61)
  })

  it('a pause follows a race that is lost to an insert of another process', async () => {
    const store = await open()
    const fresh = store.newId()
    let inserts = 0
    plan = ({ operation }) => {
      if (operation !== 'insert') return undefined
      const isStale = ++inserts < 3
      return {
        async before() {
          if (isStale) throw new LooseleafError('STALE_EPOCH', 'The catalog has another epoch.')
          await rival.put({ name: 'rival' }, { id: fresh })
        },
      }
    }
    await store.put({ name: 'mine' }, { id: fresh })
    expect([inserts, pauses.length]).toEqual([3, 1])
  })

  it('no pause follows an attempt that met a changed catalog or lost its answer', async () => {
    const store = await open()
    await rival.addIndex(defineIndex('by_rank', { properties: { rank: 'integer' }, shardOn: 'id' }))
    await store.put({ name: 'mine' }, { id })
    let lost = 0
    plan = ({ operation }) =>
      operation === 'replace' && ++lost <= 5
        ? {
            before() {
              throw unknownOutcome()
            },
          }
        : undefined
    await store.put({ name: 'again' }, { id })
    expect(lost).toBe(6)
    expect(pauses).toEqual([])
  })
})

describe('rows of superseded attempts', () => {
  const rowsOf = async (): Promise<string[]> => {
    const found = await Promise.all(
      memory.shards.map((shard) => shard.index(tableOf).scan({ prefix: [], order: 'asc', limit: 100 })),
    )
    return found.flat().map(({ key }) => Buffer.from(key[0] as Uint8Array).toString())
  }
  const tableOf = { table: 'index_by_name', columns: [{ name: 'name', type: 'string' }] } as const

  beforeEach(async () => {
    await memory.close()
    memory = await memoryShards(2).connect()
    rival = await DataStore.open({
      shards: keepOpen(memory),
      indexes: [byName],
      migrate: true,
      queryTimeMs: 100,
    })
    id = (await rival.put({ name: 'first' })).id
  })

  it.each([
    ['to what it has', 'rival'],
    ['to what an attempt had', 'try 2'],
    ['to something new', 'last'],
  ])('rows of superseded attempts are deleted after a commit that changes the entity %s', async (_, last) => {
    const store = await open({ time: systemTime })
    let tries = 0
    plan = ({ operation }) =>
      operation === 'replace' && tries <= 3
        ? { before: async () => void (await rival.put({ name: 'rival' }, { id })) }
        : undefined
    await store.update(id, () => ({ name: ++tries <= 3 ? `try ${tries}` : last }))
    await Promise.all([store.settled(), rival.settled()])
    expect(tries).toBe(4)
    expect(await rowsOf()).toEqual([last])
    expect(await store.get(id)).toEqual({ id, name: last })
  })

  it('rows of superseded attempts stay if the committed entity has them by another write', async () => {
    const store = await open({ time: systemTime })
    let tries = 0
    plan = ({ operation }) =>
      operation === 'replace' && tries === 1
        ? { before: async () => void (await rival.put({ name: 'rival' }, { id })) }
        : undefined
    await store.update(id, () => ({ name: 'rival', tries: ++tries }))
    await Promise.all([store.settled(), rival.settled()])
    expect(await store.get(id)).toEqual({ id, name: 'rival', tries: 2 })
    expect(await rowsOf()).toEqual(['rival'])
  })

  it('rows of superseded attempts stay if a later write has them', async () => {
    const store = await open({ time: systemTime })
    let tries = 0
    plan = ({ operation }) =>
      operation === 'replace' && tries === 1
        ? { before: async () => void (await rival.put({ name: 'rival' }, { id })) }
        : undefined
    await store.update(id, () => ({ name: `try ${++tries}` }))
    // Gains a row of the first attempt before that is deleted.
    await rival.put({ name: 'try 1' }, { id })
    await Promise.all([store.settled(), rival.settled()])
    expect(await rowsOf()).toEqual(['try 1'])
  })

  it('rows of a committed attempt whose answer was lost stay', async () => {
    const store = await open({ time: systemTime })
    let commits = 0
    plan = ({ operation }) => {
      if (operation !== 'replace') return undefined
      commits++
      if (commits === 1) return { before: async () => void (await rival.put({ name: 'rival' }, { id })) }
      return {
        after() {
          throw unknownOutcome()
        },
      }
    }
    await store.put({ name: 'mine' }, { id })
    await Promise.all([store.settled(), rival.settled()])
    expect(commits).toBe(2)
    expect(await rowsOf()).toEqual(['mine'])
  })
})

describe('writeTimeoutMs', () => {
  it('writeTimeoutMs ends a write before its next attempt with DEADLINE, and nothing was written', async () => {
    const store = await open({ writeTimeoutMs: 5_000 })
    const race = losing(Infinity, 2_000)
    await expect(store.put({ name: 'mine' }, { id })).rejects.toMatchObject({
      code: 'DEADLINE',
      retryable: true,
      unknownOutcome: false,
      entity: id,
    })
    expect(race.attempts).toBe(3)
    expect(await rival.get(id)).toEqual({ id, name: 'rival 3' })
  })

  it('the DEADLINE of writeTimeoutMs has the number of attempts, and no read precedes it', async () => {
    const store = await open({ writeTimeoutMs: 5_000 })
    let reads = 0
    const errorAfter = async (tookMs: number): Promise<unknown> => {
      losing(Infinity, tookMs)
      const lose = plan
      reads = 0
      plan = (call) => {
        if (call.operation === 'read') reads++
        return lose(call)
      }
      return store.put({ name: 'mine' }, { id }).catch((error: unknown) => error)
    }
    expect(await errorAfter(6_000)).toMatchObject({ message: expect.stringContaining(': 1 attempt failed') })
    expect(reads).toBe(1)
    expect(await errorAfter(3_000)).toMatchObject({ message: expect.stringContaining(': 2 attempts failed') })
    expect(reads).toBe(2)
  })

  it('writeTimeoutMs does not interrupt an attempt in flight', async () => {
    const store = await open({ writeTimeoutMs: 5_000 })
    plan = ({ operation }) =>
      operation === 'replace' ? { before: () => void (now += 3_600_000) } : undefined
    await store.put({ name: 'mine' }, { id })
    expect(await rival.get(id)).toEqual({ id, name: 'mine' })
  })

  it('writeTimeoutMs is 30 seconds by default', async () => {
    const store = await open()
    const race = losing(Infinity, 10_000)
    await expect(store.update(id, (bag) => ({ ...bag, more: true }))).rejects.toMatchObject({
      code: 'DEADLINE',
    })
    expect(race.attempts).toBe(3)
  })

  it('writeTimeoutMs includes the time of the edit of an update, but does not end its first attempt', async () => {
    const store = await open({ writeTimeoutMs: 5_000 })
    let calls = 0
    const slow = (): { name: string } => {
      calls++
      now += 60_000
      return { name: 'slow' }
    }
    await store.update(id, slow)
    expect(calls).toBe(1)
    losing(1)
    await expect(store.update(id, slow)).rejects.toMatchObject({ code: 'DEADLINE' })
    expect(calls).toBe(2)
  })

  it('writeTimeoutMs shortens the last pause', async () => {
    const store = await open({ writeTimeoutMs: 5_003 })
    vi.spyOn(Math, 'random').mockReturnValue(1)
    losing(Infinity, 1_000)
    await expect(store.put({ name: 'mine' }, { id })).rejects.toMatchObject({ code: 'DEADLINE' })
    // The pause after the fifth attempt would be 16 ms, but 3 ms remain.
    expect(pauses).toEqual([4, 8, 3])
  })

  it('writeTimeoutMs ends a write with OUTCOME_UNKNOWN while an attempt may still be committed', async () => {
    const store = await open()
    const late = unanswered((land) => ({
      before() {
        land()
        throw unknownOutcome()
      },
    }))
    await expect(store.put({ name: 'mine' }, { id })).rejects.toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      unknownOutcome: true,
      entity: id,
      cause: { code: 'DEADLINE' },
    })
    expect(late.attempts).toBe(2)
  })

  it('a write reads back its committed attempt even after writeTimeoutMs', async () => {
    const store = await open({ writeTimeoutMs: 5_000 })
    const landed = unanswered((land) => ({
      after() {
        land()
        throw unknownOutcome()
      },
    }))
    const { version } = await store.put({ name: 'mine' }, { id })
    expect(landed.attempts).toBe(1)
    expect(await rival.get(id)).toEqual({ id, name: 'mine' })
    await store.put({ name: 'next' }, { id, ifVersion: version })
  })

  it('writeTimeoutMs is measured by a monotonic clock', async () => {
    let hours = 0
    const restless = { ...systemTime, now: () => systemTime.now() + ++hours * 3_600_000 }
    const store = await open({ time: restless })
    losing(3)
    await store.put({ name: 'mine' }, { id })
    expect(await rival.get(id)).toEqual({ id, name: 'mine' })
  })
})

describe('a commit that is read back after its answer was lost', () => {
  /** Lets the commit take place and loses its answer. Runs `onFlush` before the flush that follows. */
  function landing(onFlush?: () => void | Promise<void>): string[] {
    const sent: string[] = []
    plan = ({ operation }) => {
      sent.push(operation)
      if (operation === 'flush') return onFlush && { before: onFlush }
      if (operation !== 'replace') return undefined
      return {
        after() {
          throw unknownOutcome()
        },
      }
    }
    return sent
  }

  it('a commit that is read back is acknowledged once it is durable, and its lost rows are deleted after that', async () => {
    const store = await open()
    const sent = landing()
    await store.put({ name: 'mine' }, { id })
    await store.settled()
    const order = sent.filter((operation) => ['replace', 'read', 'flush', 'remove'].includes(operation))
    expect(order).toEqual(['read', 'replace', 'read', 'flush', 'read', 'remove'])
  })

  it('a commit that is read back and then undone by a crash of the server is repeated', async () => {
    const store = await open()
    const shard = memory.shards[store.context.router.shardOfId(parseId(id))]!
    const before = (await shard.entities.read([parseId(id)]))[0]!
    let isBack = false
    const sent = landing(async () => {
      if (isBack) return
      isBack = true
      const { version: base } = (await shard.entities.read([before.id]))[0]!
      const epoch = store.context.catalog.current().epochs[memory.shards.indexOf(shard)]!
      await shard.entities.replace([{ ...before, base }], { epoch })
    })
    await store.put({ name: 'mine' }, { id })
    expect(sent.filter((operation) => operation === 'replace')).toHaveLength(2)
    expect(await rival.get(id)).toEqual({ id, name: 'mine' })
  })

  it('a commit that is read back is OUTCOME_UNKNOWN if it cannot be made durable, and its lost rows stay', async () => {
    const store = await open()
    const sent = landing(() => {
      throw unknownOutcome()
    })
    await expect(store.put({ name: 'mine' }, { id })).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    await store.settled()
    expect(sent).not.toContain('remove')
  })
})
