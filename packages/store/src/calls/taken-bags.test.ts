import {
  LooseleafError,
  type Bag,
  type DriverFactory,
  type Entity,
  type EntityId,
  type PropertyValue,
} from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { faultyDriver, unknownOutcome, type FaultPlan } from '@looseleaf/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DataStore } from '../data-store.ts'

const byTag = defineIndex('by_tag', { properties: { tags: 'string[]' }, shardOn: 'tags' })
const byTime = defineIndex('by_time', { properties: { at: 'time' }, shardOn: 'id' })

let store: DataStore
let plan: FaultPlan

beforeEach(async () => {
  plan = () => undefined
  const memory = memoryShards(2)
  const shards: DriverFactory = {
    shardCount: 2,
    connect: async () => faultyDriver(await memory.connect(), (call) => plan(call)),
  }
  store = await DataStore.open({ shards, indexes: [byTag, byTime], migrate: true })
})
afterEach(() => store.close())

/** Returns the entities that both indexes find, each once. */
async function indexed(): Promise<readonly unknown[]> {
  const found = await store.getAll(byTime, {}, { scatter: true })
  const tagged = await store.getAll(byTag, {}, { scatter: true })
  expect(new Set(tagged.map(({ id }) => id))).toEqual(new Set(found.map(({ id }) => id)))
  return found.toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

/** Returns a bag, and a function that changes every mutable value in it. */
function changeable(): { readonly bag: Bag; spoil(): void } {
  const at = new Date(5)
  const bytes = Buffer.from('abc')
  const tags = ['a', 'b']
  const nested = { list: [1] }
  const bag: Bag = { at, bytes, tags, nested }
  return {
    bag,
    spoil() {
      at.setTime(9)
      bytes.fill(0)
      tags.push('c')
      tags[0] = 'z'
      nested.list.length = 0
      Object.assign(bag, { more: Symbol('x'), tags: 5 })
    },
  }
}

const asGiven = { at: new Date(5), bytes: Uint8Array.of(97, 98, 99), tags: ['a', 'b'], nested: { list: [1] } }

describe('changes to a bag after the call have no effect:', () => {
  it.each<[string, (bag: Bag, id: EntityId) => Promise<unknown>]>([
    ['put', (bag) => store.put(bag)],
    ['put with an id', (bag, id) => store.put(bag, { id })],
    ['insert', (bag) => store.insert(bag)],
    ['putMany', (bag) => store.putMany([bag])],
    [
      'putMany of two with one id',
      (bag, id) =>
        store.putMany([
          { id, first: true },
          { ...bag, id },
        ]),
    ],
  ])('%s', async (_, write) => {
    const { bag, spoil } = changeable()
    const writing = write(bag, store.newId())
    spoil()
    await writing
    expect(await indexed()).toEqual([{ id: expect.any(String), ...asGiven }])
  })

  it('an update whose edit changes the returned bag later writes the bag as it was returned', async () => {
    const { id } = await store.put({ n: 1 })
    const { bag, spoil } = changeable()
    plan = ({ operation }) => {
      if (operation === 'replace') spoil()
      return undefined
    }
    await store.update(id, () => bag)
    expect(await indexed()).toEqual([{ id, ...asGiven }])
  })

  it('changes to a bag after the call have no effect on a later attempt', async () => {
    const { bag, spoil } = changeable()
    let attempts = 0
    plan = ({ operation }) => {
      if (operation !== 'insert' || ++attempts > 1) return undefined
      return {
        before() {
          spoil()
          throw unknownOutcome()
        },
      }
    }
    const { id } = await store.put(bag)
    expect(attempts).toBe(2)
    expect(await indexed()).toEqual([{ id, ...asGiven }])
  })
})

describe('a bag whose values differ at each read is stored as it is indexed:', () => {
  let answers = 0
  beforeEach(() => {
    answers = 0
  })
  const changing = <T extends object>(target: T, answer: (n: number) => unknown): T =>
    new Proxy(target, {
      get: (object, name, receiver) =>
        typeof name === 'string' && /^\d+$/.test(name)
          ? answer(++answers)
          : Reflect.get(object, name, receiver),
    })
  class Clock extends Date {
    override getTime(): number {
      return ++answers * 1000
    }
    override toISOString(): string {
      return new Date(this.getTime()).toISOString()
    }
  }
  it.each<[string, () => Bag]>([
    ['the elements of an array', () => ({ at: new Date(0), tags: changing(['x', 'y'], (n) => `tag ${n}`) })],
    [
      'a getter of an element',
      () => ({ at: new Date(0), tags: Object.defineProperty(['x'], 0, { get: () => `tag ${++answers}` }) }),
    ],
    [
      'the whole bag, a proxy',
      () =>
        new Proxy({ at: new Date(0), tags: ['x'] } as Bag, {
          get: (_, name) => (name === 'tags' ? [`tag ${++answers}`] : new Date(answers)),
        }),
    ],
    ['a Date of a class', () => ({ at: new Clock(7), tags: ['x'] })],
    [
      'a nested getter',
      () => ({
        at: new Date(0),
        tags: ['x'],
        nested: {
          get n(): PropertyValue {
            return ++answers
          },
        },
      }),
    ],
  ])('%s', async (_, make) => {
    const { id } = await store.put(make())
    const entity = await store.get(id)
    expect(await indexed()).toEqual([entity])
    for (const tag of (entity as Entity)['tags'] as string[]) {
      expect((await store.getAll(byTag, { tags: tag })).map((found) => found.id)).toEqual([id])
    }
    const at = (entity as Entity)['at'] as Date
    expect((await store.getAll(byTime, { at }, { scatter: true })).map((found) => found.id)).toEqual([id])
  })

  it('a getter that throws is BAD_PROPERTY with its path, and writes nothing', async () => {
    const bag = {
      tags: ['x'],
      nested: [
        {
          get n(): number {
            throw new LooseleafError('CONFLICT', 'not of the store')
          },
        },
      ],
    }
    await expect(store.put(bag)).rejects.toMatchObject({
      code: 'BAD_PROPERTY',
      retryable: false,
      message: expect.stringMatching(/^nested\[0\]\.n cannot be stored/),
    })
    const [result] = await store.putMany([bag], { fates: true })
    expect(result).toMatchObject({ ok: false, error: { code: 'BAD_PROPERTY' } })
    expect(await indexed()).toEqual([])
  })

  it('an async edit is BAD_PROPERTY, and its rejection is not unhandled', async () => {
    const { id } = await store.put({ n: 1 })
    const failing = (async () => {
      throw new Error('on purpose')
    }) as unknown as () => Bag
    const unhandled: unknown[] = []
    const note = (error: unknown): void => void unhandled.push(error)
    process.on('unhandledRejection', note)
    try {
      await expect(store.update(id, failing)).rejects.toMatchObject({
        code: 'BAD_PROPERTY',
        message: expect.stringMatching(/new bag synchronously; it returned a promise/),
      })
      await new Promise((resolve) => setImmediate(resolve))
    } finally {
      process.off('unhandledRejection', note)
    }
    expect(unhandled).toEqual([])
  })

  it('the id of a bag is read once', async () => {
    const ids = [store.newId(), store.newId()]
    const bag = {
      tags: ['x'],
      get id() {
        return ids[answers++]
      },
    }
    const { id } = await store.put(bag)
    expect([id, answers]).toEqual([ids[0], 1])
    expect(await store.get(id)).toEqual({ id, tags: ['x'] })
  })
})
