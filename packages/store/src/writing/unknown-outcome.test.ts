import { isLooseleafError, LooseleafError, parseId, type DriverFactory, type EntityId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { faultyDriver, keepOpen, unknownOutcome, type FaultPlan } from '@looseleaf/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DataStore } from '../data-store.ts'
import { unknownOutcome as outcomeUnknown } from './unknown-outcome.ts'

let store: DataStore
let id: EntityId
/**
 * `lossy`: the answer of the next commit is lost, and the shard is `down` from then on, so that nothing can be read back. `overtaken`: the
 * answer of each commit is lost, and another write follows it. `unsent`: each commit is lost before it is sent.
 */
let state: 'up' | 'lossy' | 'down' | 'overtaken' | 'unsent'
/** Another store on the same shards, without faults. */
let rival: DataStore

beforeEach(async () => {
  state = 'up'
  const driver = await memoryShards(2).connect()
  const shards: DriverFactory = {
    shardCount: 2,
    connect: async () => faultyDriver(driver, (call) => plan(call)),
  }
  store = await DataStore.open({ shards, migrate: true })
  rival = await DataStore.open({ shards: keepOpen(driver) })
  id = (await store.put({ n: 0 })).id
})
afterEach(() => store.close())

const plan: FaultPlan = ({ operation }) => {
  if (state === 'overtaken' && operation === 'replace') {
    return {
      async after() {
        await rival.put({ n: 2 }, { id })
        throw unknownOutcome()
      },
    }
  }
  if (state === 'unsent' && operation === 'replace') {
    return {
      before() {
        throw unknownOutcome()
      },
    }
  }
  if (state === 'lossy' && (operation === 'insert' || operation === 'replace')) {
    return {
      after() {
        state = 'down'
        throw unknownOutcome()
      },
    }
  }
  if (state !== 'down') return undefined
  return {
    before() {
      throw new LooseleafError('SHARD_UNAVAILABLE', 'The shard is down (a fault on purpose).')
    },
  }
}

/** Makes a write whose answer is lost, and returns its error. */
async function unknownOf(write: () => Promise<unknown>): Promise<LooseleafError> {
  state = 'lossy'
  try {
    await write()
  } catch (error) {
    if (isLooseleafError(error, 'OUTCOME_UNKNOWN')) return error
    throw error
  } finally {
    state = 'up'
  }
  throw new Error('Its outcome is known.')
}

async function count(): Promise<number> {
  return (await Array.fromAsync(store.scan())).length
}

describe('OUTCOME_UNKNOWN of a write without an id', () => {
  it.each<[string, () => Promise<unknown>]>([
    ['put', () => store.put({ n: 1 })],
    ['insert', () => store.insert({ n: 1 })],
    [
      'putMany',
      async () => {
        const [result] = await store.putMany([{ n: 1 }], { fates: true })
        if (result?.ok === false) throw result.error
      },
    ],
  ])(
    'OUTCOME_UNKNOWN of a write without an id is not retryable, and names the id to repeat it with: %s',
    async (_, write) => {
      const error = await unknownOf(write)
      expect(error).toMatchObject({ retryable: false, unknownOutcome: true, entity: expect.any(String) })
      expect(error.message).toContain(`Entity ${error.entity}: `)
      expect(error.message).toContain('try again with this id')
      // Follows the advice of the message, and makes no second entity.
      const again = await store.put({ n: 1 }, { id: error.entity as EntityId })
      expect(again).toMatchObject({ id: error.entity, created: false })
      expect(await count()).toBe(2)
    },
  )
})

describe('the error OUTCOME_UNKNOWN', () => {
  it('the message of OUTCOME_UNKNOWN says why there is no answer, and why reading it back failed', async () => {
    const error = await unknownOf(() => store.put({ n: 1 }, { id }))
    expect(error.message).toContain(`Entity ${id}: it is not known whether version `)
    expect(error.message).toContain(unknownOutcome().message)
    expect(error.message).toContain('The shard is down (a fault on purpose).')
    expect(error.cause).toMatchObject({ code: 'SHARD_UNAVAILABLE' })
  })

  it('the causes of OUTCOME_UNKNOWN name the lost answer and the other write', async () => {
    state = 'overtaken'
    const error = await store.put({ n: 1 }, { id }).catch((each: unknown) => each)
    expect(error).toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      message: expect.stringMatching(/was written by another writer since/),
      cause: { code: 'CONFLICT', cause: { code: 'OUTCOME_UNKNOWN', message: unknownOutcome().message } },
    })
  })

  it('the message of OUTCOME_UNKNOWN leaves out the message of an error that an edit throws, which may hold values', async () => {
    state = 'unsent'
    let edits = 0
    const update = store.update(id, (bag) => {
      if (++edits > 1) throw new Error('a secret value')
      return { ...bag, n: 1 }
    })
    const error = (await update.catch((each: unknown) => each)) as LooseleafError
    expect(error).toMatchObject({ code: 'OUTCOME_UNKNOWN', cause: { message: 'a secret value' } })
    expect(error.message).not.toContain('secret')
    expect(error.shard).toBeUndefined()
  })
})

it('OUTCOME_UNKNOWN names the versions of all attempts, each reason once, and the shard of the last error', () => {
  const reasons = ['No answer.', 'It went away.', 'No answer.']
  const attempts = new Map(
    reasons.map((text, i) => [5 + i, { reason: new LooseleafError('SHARD_BUSY', text) }]),
  )
  const cause = new LooseleafError('SHARD_UNAVAILABLE', 'It is down.', { shard: 'shard 0' })
  const error = outcomeUnknown(parseId(id), attempts, {}, cause)
  expect(error).toMatchObject({ entity: id, shard: 'shard 0', retryable: true, cause })
  expect(error.message).toBe(
    `Entity ${id}: it is not known whether version 5, 6, 7 was written. The reason: No answer. It went away. The outcome could not be found out: It is down.`,
  )
})

describe('OUTCOME_UNKNOWN of a write of an entity by its id', () => {
  it.each<[string, boolean, () => Promise<unknown>]>([
    ['put', true, () => store.put({ n: 1 }, { id })],
    ['put of a bag with an id', true, () => store.put({ n: 1, id })],
    ['insert', true, () => store.insert({ n: 1 }, { id: store.newId() })],
    ['delete', true, () => store.delete(id)],
    ['update', false, () => store.update(id, (bag) => ({ n: Number(bag['n']) + 1 }))],
  ])('OUTCOME_UNKNOWN of a write by id is retryable unless it adds up: %s', async (_, retryable, write) => {
    const error = await unknownOf(write)
    expect(error).toMatchObject({ retryable, unknownOutcome: true, entity: expect.any(String) })
    expect(error.message).not.toContain('try again with this id')
    expect(error.message.includes('Read the entity before you try again')).toBe(!retryable)
  })

  it('an update with ifVersion is retryable after OUTCOME_UNKNOWN, and is not applied twice', async () => {
    const { version } = await store.put({ n: 0 }, { id })
    const add = (): Promise<unknown> =>
      store.update(id, (bag) => ({ n: Number(bag['n']) + 1 }), { ifVersion: version })
    expect(await unknownOf(add)).toMatchObject({ retryable: true })
    await expect(add()).rejects.toMatchObject({ code: 'VERSION_MISMATCH' })
    expect(await store.get(id)).toEqual({ id, n: 1 })
  })
})
