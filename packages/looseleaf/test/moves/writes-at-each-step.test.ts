import { isLooseleafError, LooseleafError, type Driver } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { moveBuckets } from '@looseleaf/mover/internal'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver } from '@looseleaf/testkit'
import { leapingTime, type LeapingTime } from '@looseleaf-tooling/kit/times'
import { isLong } from '@looseleaf-tooling/vitest/long'
import { expect, test } from 'vitest'
import { checkSwept, contentsOf, itemOf, openStore, SOME_BUCKETS } from './stores.ts'

const plan = { from: 0, to: 1, buckets: SOME_BUCKETS }
const tuning = { groups: 2, checkpointMs: 0 }
/** Calls of the mover between two rounds of writes. A group is sealed for eight calls at most, and a write breaks a seal. */
const STRIDE = 31
const ROUNDS = 20

interface Life {
  readonly driver: Driver
  readonly time: LeapingTime
  readonly writer: DataStore
  /** Ids of entities that nothing has written since their first state; half of them are in buckets that move. */
  readonly fresh: string[]
  /** Last acknowledged state of every entity; undefined after its deletion. */
  readonly states: Map<string, object | undefined>
}

async function begin(entities: number): Promise<Life> {
  const driver = await memoryShards(2).connect()
  const time = leapingTime()
  const writer = await openStore(driver, time)
  const items = Array.from({ length: entities }, (_, number) => ({ ...itemOf(number) }))
  const put = await writer.putMany(items)
  const states = new Map(put.map(({ id }, i) => [id, items[i]]))
  return { driver, time, writer, fresh: [...states.keys()], states }
}

/** Moves the buckets by another process, and calls `write` before every 31st of its calls, from this one on. */
async function moveBeside(
  { driver, time }: Life,
  first: number,
  write: (round: number) => Promise<unknown>,
): Promise<void> {
  let calls = 0
  let isOpen = false
  const watched = faultyDriver(driver, () => ({
    async before() {
      if (isOpen && calls++ % STRIDE === first) await write(Math.floor(calls / STRIDE))
    },
  }))
  const mover = await openStore(watched, time)
  isOpen = true
  expect(await moveBuckets(mover, plan, tuning)).toMatchObject({ state: 'done' })
  await mover.close()
}

/** Compares every entity with its last acknowledged state, and every index with the entities. */
async function expectLastStates({ driver, writer, states }: Life): Promise<void> {
  await writer.close()
  const store = await openStore(driver, leapingTime())
  const known = [...states].flatMap(([id, item]) => (item === undefined ? [] : [[id, item] as const]))
  const found = [...(await contentsOf(store))].map(
    ([id, text]) => [id, (JSON.parse(text) as unknown[])[1]] as const,
  )
  expect(new Map(found)).toEqual(new Map(known))
  await checkSwept(store)
}

let names = 1_000

/** All rows and the claim of a changed entity have other keys, so they leave their buckets. */
const changed = (): object => ({ ...itemOf(names), name: `name ${names++}` })

test('entities, index rows and claims that change and go before any call of a mover are as they were written last', async () => {
  for (let first = 0; first < STRIDE; first += isLong ? 1 : 8) {
    const life = await begin(6 * ROUNDS)
    const { driver, writer, fresh, states } = life
    const put = async (id: string, item: object): Promise<void> => {
      await writer.put({ ...item }, { id })
      states.set(id, item)
    }
    const remove = async (id: string): Promise<void> => {
      await writer.delete(id)
      states.set(id, undefined)
    }
    const ways: readonly ((id: string) => Promise<void>)[] = [
      remove,
      (id) => put(id, changed()),
      async (id) => {
        await put(id, changed())
        await remove(id)
      },
      async (id) => {
        await remove(id)
        await put(id, changed())
      },
      async (id) => {
        const before = states.get(id)!
        await put(id, changed())
        await put(id, before)
      },
      async (id) => {
        const before = states.get(id)!
        await remove(id)
        // Another entity takes the claim over.
        await put(writer.newId(), before)
      },
    ]
    let rounds = 0
    await moveBeside(life, first, async () => {
      rounds++
      await Promise.all(ways.map((write) => write(fresh.shift()!)))
    })
    expect(rounds).toBeGreaterThan(2)
    await expectLastStates(life)
    await driver.close()
  }
}, 240_000)

test('a process that cannot reach the target of a move loses no write and reads no old state', async () => {
  for (let first = 0; first < STRIDE; first += isLong ? 1 : 8) {
    const life = await begin(6 * ROUNDS)
    const { driver, time, writer, fresh, states } = life
    let isCut = false
    const cutOff = faultyDriver(driver, ({ shard }) =>
      isCut && shard === 1
        ? {
            before: () => {
              throw new LooseleafError('SHARD_UNAVAILABLE', 'The network is down (a fault on purpose).')
            },
          }
        : undefined,
    )
    const other = await openStore(cutOff, time)
    isCut = true
    let failed = 0
    let done = 0
    const attempt = async (call: () => Promise<void>): Promise<void> => {
      try {
        await call()
        done++
      } catch (error) {
        if (!isLooseleafError(error) || !error.retryable) throw error
        failed++
      }
    }
    await moveBeside(life, first, async () => {
      for (const id of fresh.splice(0, 6)) {
        const item = changed()
        await attempt(async () => {
          await other.put({ ...item }, { id })
          states.set(id, item)
        })
        const written = changed()
        await writer.put({ ...written }, { id })
        states.set(id, written)
        await attempt(async () => expect(await other.get(id)).toMatchObject(written))
      }
    })
    expect(done).toBeGreaterThan(0)
    expect(failed).toBeGreaterThan(0)
    isCut = false
    for (const [id, item] of states) expect(await other.get(id)).toMatchObject(item!)
    await other.close()
    await expectLastStates(life)
    await driver.close()
  }
}, 240_000)
