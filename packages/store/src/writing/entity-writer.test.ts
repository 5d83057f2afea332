import { LooseleafError, type Driver, type DriverFactory, type Router, type Shard } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import {
  type Fault,
  type FaultPlan,
  faultyDriver,
  keepOpen,
  unknownOutcome,
  withoutPauses,
} from '@looseleaf/testkit'
import { farRouter, localRouter } from '@looseleaf-tooling/kit/far-router'
import { withCode } from '@looseleaf-tooling/kit/errors'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { DataStore } from '../data-store.ts'
import { unchanged } from '../unchanged.ts'

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })

const opened: DataStore[] = []

/** Opens a store whose driver works until a plan of faults is set. */
async function openFaulty(
  router: Router = farRouter(),
): Promise<{ store: DataStore; plan(plan: FaultPlan): void; calls: string[] }> {
  let plan: FaultPlan = () => undefined
  const calls: string[] = []
  const memory = memoryShards(2)
  const shards: DriverFactory = {
    shardCount: 2,
    connect: async () =>
      faultyDriver(await memory.connect(), (call) => {
        // Looks belong to no write.
        if (call.operation !== 'floor') calls.push(`${call.table} ${call.operation}`)
        return plan(call)
      }),
  }
  const options = { shards, indexes: [byName], migrate: true, time: withoutPauses, router }
  const store = await DataStore.open(options)
  opened.push(store)
  calls.length = 0
  return { store, calls, plan: (next) => void (plan = next) }
}

/** A store, and further ones of the same shards behind faults. */
interface SharedStore {
  readonly memory: Driver
  readonly store: DataStore
  openBehind(plan: FaultPlan): Promise<{ readonly store: DataStore; readonly crashed: Promise<unknown> }>
}

async function openShared(router: Router = farRouter()): Promise<SharedStore> {
  const memory = await memoryShards(2).connect()
  onTestFinished(() => memory.close())
  const options = { indexes: [byName], time: withoutPauses, router }
  return {
    memory,
    store: await DataStore.open({ ...options, shards: keepOpen(memory), migrate: true }),
    async openBehind(plan) {
      const driver = faultyDriver(memory, plan)
      const shards = { shardCount: 2, connect: async () => driver }
      return { store: await DataStore.open({ ...options, shards }), crashed: driver.crashed }
    },
  }
}

/** Makes a plan with one fault, at the next call of an operation. */
function once(operation: string, fault: Fault): FaultPlan {
  let done = false
  return (call) => {
    if (done || call.operation !== operation) return undefined
    done = true
    return fault
  }
}

const unavailable: Fault = {
  before() {
    throw new LooseleafError('SHARD_UNAVAILABLE', 'The shard is down (a fault on purpose).')
  },
}
const answerLost: Fault = {
  after() {
    throw unknownOutcome()
  },
}
const neverArrives: Fault = {
  before() {
    throw unknownOutcome()
  },
}

const find = async (store: DataStore, name: string): Promise<string[]> =>
  (await store.getAll(byName, { name })).map((entity) => entity.id)

afterEach(async () => {
  await Promise.all(opened.splice(0).map((store) => store.close()))
})

describe('the order of a write', () => {
  it('a write upserts gained far rows, commits the entity, then deletes lost rows', async () => {
    const { store, calls } = await openFaulty()
    const { id } = await store.put({ name: 'one' })
    expect(calls).toEqual(['index_by_name upsert', 'entities insert'])
    calls.length = 0
    await store.put({ name: 'two' }, { id })
    await store.settled()
    expect(calls).toEqual([
      'entities read',
      'index_by_name upsert',
      'entities replace',
      'catalog load',
      'index_by_name remove',
    ])
    calls.length = 0
    await store.put({ name: 'two', more: true }, { id })
    await store.settled()
    expect(calls).toEqual(['entities read', 'entities replace'])
  })
})

describe('a write of local rows', () => {
  it('a write of local rows is one call, and deletes the rows of an entity that leaves the index', async () => {
    const { store, calls } = await openFaulty(localRouter())
    const { id } = await store.put({ name: 'one' })
    expect(calls).toEqual(['entities insert'])
    expect(await find(store, 'one')).toEqual([id])
    calls.length = 0
    await store.put({}, { id })
    await store.settled()
    expect(calls).toEqual(['entities read', 'entities replace'])
    expect(await store.count(byName, { name: 'one' }, { exact: false })).toBe(0)
  })

  it('a local row that the entity exchanges for another is deleted later, as a far row is', async () => {
    const { store, calls } = await openFaulty(localRouter())
    const { id } = await store.put({ name: 'one' })
    calls.length = 0
    await store.put({ name: 'two' }, { id })
    expect(await store.count(byName, { name: 'one' }, { exact: false })).toBe(1)
    await store.settled()
    // Its epoch is compared before.
    expect(calls).toContain('catalog load')
    expect(calls.at(-1)).toBe('index_by_name remove')
    expect(await find(store, 'two')).toEqual([id])
  })

  it.each(['before', 'after'] as const)(
    'a process that crashes %s the commit of local rows leaves neither a missing row nor an extra one',
    async (when) => {
      const { store: survivor, openBehind } = await openShared(localRouter())
      const { id } = await survivor.put({ name: 'one' })
      const { store: victim, crashed } = await openBehind(once('replace', { crash: when }))
      void victim.put({ name: 'two' }, { id })
      await crashed
      const name = when === 'before' ? 'one' : 'two'
      expect(await find(survivor, name)).toEqual([id])
      expect(await survivor.count(byName, { name: 'two' }, { exact: false })).toBe(when === 'before' ? 0 : 1)
    },
  )
})

describe('a getter of a bag', () => {
  it('a getter is called once, so that the stored value is the indexed one', async () => {
    const { store } = await openFaulty()
    let reads = 0
    const bag = {
      get name() {
        return `asked ${++reads} times`
      },
    }
    const { id } = await store.put(bag)
    const name = String((await store.get(id))?.['name'])
    expect((await store.getAll(byName, { name })).map((entity) => entity.id)).toEqual([id])
  })
})

describe('an index shard that is down', () => {
  it('a write fails before its commit if an index shard is down, and succeeds when it is repeated later', async () => {
    const { store, plan } = await openFaulty()
    const { id } = await store.put({ name: 'one' })
    plan(once('upsert', unavailable))
    const failed = store.put({ name: 'two' }, { id })
    await expect(failed).rejects.toEqual(withCode('SHARD_UNAVAILABLE'))
    await expect(failed).rejects.toMatchObject({ retryable: true })
    expect(await store.get(id)).toEqual({ id, name: 'one' })
    await store.put({ name: 'two' }, { id })
    expect(await find(store, 'two')).toEqual([id])
  })

  it('a write succeeds although the deletes of its lost rows fail', async () => {
    const { store, plan } = await openFaulty()
    const { id } = await store.put({ name: 'one' })
    plan(once('remove', unavailable))
    await store.put({ name: 'two' }, { id })
    await store.settled()
    expect(await find(store, 'two')).toEqual([id])
    expect(await find(store, 'one')).toEqual([])
    expect(await store.count(byName, { name: 'one' })).toBe(0)
    expect(await store.count(byName, { name: 'one' }, { exact: false })).toBe(1)
  })

  it('a lost answer to an index row fails the write with a known outcome', async () => {
    const { store, plan } = await openFaulty()
    plan(once('upsert', answerLost))
    const failed = store.put({ name: 'one' })
    await expect(failed).rejects.toEqual(withCode('SHARD_UNAVAILABLE'))
    await expect(failed).rejects.toMatchObject({ unknownOutcome: false, retryable: true })
    expect(await find(store, 'one')).toEqual([])
  })
})

describe('a driver that mixes sessions of an index shard', () => {
  it('an error of the driver at an index row reaches the caller, with the note that the entity was not written', async () => {
    const { store, plan } = await openFaulty()
    plan(
      once('upsert', {
        after() {
          throw new LooseleafError('STATEMENT_FAILED', 'Sessions are mixed.', { unknownOutcome: true })
        },
      }),
    )
    const failed = store.put({ name: 'one' })
    await expect(failed).rejects.toEqual(withCode('STATEMENT_FAILED'))
    await expect(failed).rejects.toMatchObject({ unknownOutcome: false, retryable: false })
    await expect(failed).rejects.toThrow(
      'Sessions are mixed. This concerns an index row only: the entity was not written.',
    )
    expect(await find(store, 'one')).toEqual([])
  })
})

describe('a commit whose answer is lost', () => {
  it('a commit whose answer is lost is read back as committed', async () => {
    const { store, plan } = await openFaulty()
    plan(once('insert', answerLost))
    const { id, version, created } = await store.put({ name: 'one' })
    expect(created).toBe(true)
    expect(await store.get(id)).toEqual({ id, name: 'one' })
    plan(once('replace', answerLost))
    const second = await store.put({ name: 'two' }, { id, ifVersion: version })
    await store.settled()
    expect(await store.get(id)).toEqual({ id, name: 'two' })
    expect(second.version).toBeGreaterThan(version)
    expect(await store.count(byName, { name: 'one' })).toBe(0)
  })

  it('a commit whose answer is lost is repeated if it did not take place', async () => {
    const { store, plan } = await openFaulty()
    plan(once('insert', neverArrives))
    const { id } = await store.put({ name: 'one' })
    plan(once('replace', neverArrives))
    await store.update(id, (bag) => ({ ...bag, name: 'two' }))
    expect(await store.get(id)).toEqual({ id, name: 'two' })
  })

  it('an update whose statement arrives late counts once', async () => {
    const { store, plan } = await openFaulty()
    const { id } = await store.put({ count: 0 })
    const arrival = Promise.withResolvers<void>()
    plan(once('replace', { late: arrival.promise }))
    await store.update(id, (bag) => ({ count: Number(bag['count']) + 1 }))
    arrival.resolve()
    await arrival.promise
    await store.update(id, (bag) => ({ count: Number(bag['count']) + 1 }))
    expect(await store.get(id)).toEqual({ id, count: 2 })
  })

  it('a commit whose answer is lost is OUTCOME_UNKNOWN after another write', async () => {
    const { store: other, openBehind } = await openShared()
    const { id } = await other.put({ by: 'first' })
    const { store } = await openBehind(
      once('replace', {
        async after() {
          await other.put({ by: 'other' }, { id })
          throw unknownOutcome()
        },
      }),
    )
    await expect(store.put({ by: 'second' }, { id })).rejects.toEqual(withCode('OUTCOME_UNKNOWN'))
    expect(await other.get(id)).toEqual({ id, by: 'other' })
  })

  it('a commit whose answer is lost does not mistake the write of another process with the same version for its own', async () => {
    const { memory, store: other, openBehind } = await openShared()
    const { id } = await other.put({ by: 'first' })
    const body = other.context.codec.encode({ by: 'other' })
    const { store } = await openBehind((call) => {
      if (call.operation !== 'replace') return undefined
      return {
        async before() {
          const [rows, options] = call.args as Parameters<Shard['entities']['replace']>
          const others = rows.map((row) => ({ ...row, body }))
          await memory.shards[call.shard]?.entities.replace(others, options)
          throw unknownOutcome()
        },
      }
    })
    await expect(store.put({ by: 'second' }, { id })).rejects.toEqual(withCode('OUTCOME_UNKNOWN'))
    expect(await other.get(id)).toEqual({ id, by: 'other' })
  })

  it('an update that returns unchanged is OUTCOME_UNKNOWN while an earlier attempt may still be committed', async () => {
    const { store, plan } = await openFaulty()
    const { id } = await store.put({ count: 0 })
    const arrival = Promise.withResolvers<void>()
    plan(once('replace', { late: arrival.promise }))
    let calls = 0
    const update = store.update(id, () => (++calls === 1 ? { count: 1 } : unchanged))
    await expect(update).rejects.toEqual(withCode('OUTCOME_UNKNOWN'))
    expect(calls).toBe(2)
    arrival.resolve()
  })

  it('a commit whose answer is lost is OUTCOME_UNKNOWN if the entity cannot be read back', async () => {
    const { store, plan } = await openFaulty()
    const { id } = await store.put({ name: 'one' })
    let lost = false
    plan((call) => {
      if (call.operation === 'replace') {
        lost = true
        return answerLost
      }
      return lost && call.operation === 'read' ? unavailable : undefined
    })
    const failed = store.put({ name: 'two' }, { id })
    await expect(failed).rejects.toEqual(withCode('OUTCOME_UNKNOWN'))
    await expect(failed).rejects.toThrow(id)
    plan(() => undefined)
    // The commit has taken place, and its rows are there.
    expect(await find(store, 'two')).toEqual([id])
  })
})

describe('a process that crashes', () => {
  it.each([
    ['before the rows', 'upsert', 'before', 'one'],
    ['between the rows and the entity', 'upsert', 'after', 'one'],
    ['before the entity is written', 'replace', 'before', 'one'],
    ['between the entity and the lost rows', 'replace', 'after', 'two'],
    ['before the lost rows are deleted', 'remove', 'before', 'two'],
  ] as const)('a process that crashes %s leaves no missing row', async (_, operation, when, name) => {
    const { store: survivor, openBehind } = await openShared()
    const { id } = await survivor.put({ name: 'one' })
    const { store: victim, crashed } = await openBehind(once(operation, { crash: when }))
    void victim.put({ name: 'two' }, { id })
    await crashed
    expect(await survivor.get(id)).toEqual({ id, name })
    expect(await find(survivor, name)).toEqual([id])
    expect(await find(survivor, name === 'one' ? 'two' : 'one')).toEqual([])
  })
})
