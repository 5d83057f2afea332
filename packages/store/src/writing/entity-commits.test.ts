import { LooseleafError, parseId, type EntityTable } from '@looseleaf/core'
import { changeCatalog, defineIndex } from '@looseleaf/index-engine'
import { type FaultPlan, faultyDriver, keepOpen, unknownOutcome, withoutPauses } from '@looseleaf/testkit'
import { createReferenceDriver, type ReferenceDriver } from '@looseleaf-tooling/reference-driver'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DataStore } from '../data-store.ts'
import { unchanged } from '../unchanged.ts'
import type { DataStoreOptions } from '../types.ts'

// What a database answers to the commit of an entity, and what a write makes of it.

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })

let memory: ReferenceDriver
let plan: FaultPlan
/** Statements on entities, in order. */
let sent: string[]
let store: DataStore

function open(options: Partial<DataStoreOptions> = {}): Promise<DataStore> {
  const driver = faultyDriver(memory, (call) => {
    if (call.table === 'entities') sent.push(call.operation)
    return plan(call)
  })
  return DataStore.open({
    shards: keepOpen(driver),
    indexes: [byName],
    migrate: true,
    time: withoutPauses,
    ...options,
  })
}

beforeEach(async () => {
  memory = createReferenceDriver({ shards: 2 })
  plan = () => undefined
  sent = []
  store = await open()
})
afterEach(async () => {
  plan = () => undefined
  await store.close()
})

/** The first statement of a kind is preceded by something. */
function beforeFirst(operation: string, before: () => unknown): void {
  plan = (call) => {
    if (call.table !== 'entities' || call.operation !== operation) return undefined
    plan = () => undefined
    return { before: async () => void (await before()) }
  }
}

const names = async (name: string): Promise<string[]> =>
  (await store.getAll(byName, { name })).map((entity) => entity.id)

describe('a commit', () => {
  it('of a new entity that another process has made meanwhile replaces that', async () => {
    const rival = await open()
    const id = store.newId()
    beforeFirst('insert', () => rival.put({ name: 'theirs' }, { id }))
    const { created } = await store.put({ name: 'ours' }, { id })
    expect(created).toBe(false)
    expect(await store.get(id)).toEqual({ id, name: 'ours' })
    expect(await names('ours')).toEqual([id])
    expect(sent.filter((operation) => operation === 'replace')).toHaveLength(1)
  })

  it('of an entity that is to be new does not take place where another process has made it', async () => {
    const rival = await open()
    const id = store.newId()
    beforeFirst('insert', () => rival.put({ name: 'theirs' }, { id }))
    await expect(store.insert({ name: 'ours' }, { id })).rejects.toMatchObject({ code: 'ALREADY_EXISTS' })
    expect(await store.get(id)).toEqual({ id, name: 'theirs' })
  })

  it.each([
    ['insert', new LooseleafError('SHARD_UNAVAILABLE', 'Away.')],
    ['insert', new TypeError('a bug')],
    ['replace', new LooseleafError('SHARD_UNAVAILABLE', 'Away.')],
    ['replace', new TypeError('a bug')],
  ])(
    'that is refused for good ends the write with that, and none follows (%s: %s)',
    async (operation, error) => {
      const id = store.newId()
      if (operation === 'replace') await store.put({ name: 'before' }, { id })
      sent.length = 0
      plan = (call) => (call.operation === operation ? { before: () => Promise.reject(error) } : undefined)
      await expect(store.put({ name: 'after' }, { id })).rejects.toBe(error)
      expect(sent).toEqual(['read', operation])
    },
  )

  it('whose wait is given up is ABORTED', async () => {
    const controller = new AbortController()
    const id = store.newId()
    plan = ({ operation }) =>
      operation === 'insert'
        ? {
            before: () => controller.abort(),
            after: () => new Promise((resolve) => setImmediate(resolve)),
          }
        : undefined
    const write = store.put({ name: 'one' }, { id, signal: controller.signal })
    await expect(write).rejects.toMatchObject({ code: 'ABORTED' })
  })

  it('that was lost with its server after it was found is made again', async () => {
    const id = store.newId()
    const shard = memory.shards[store.context.router.shardOfId(parseId(id))]!
    const before = shard.state()
    let flushes = 0
    plan = ({ operation }) => {
      if (operation === 'insert' && flushes === 0) return { after: () => Promise.reject(unknownOutcome()) }
      // The server has died and come back without it.
      return operation === 'flush' && flushes++ === 0
        ? { before: () => shard.fallBack(before, 'entities') }
        : undefined
    }
    await store.put({ name: 'one' }, { id })
    expect(sent.filter((operation) => operation === 'insert')).toHaveLength(2)
    expect(await store.get(id)).toEqual({ id, name: 'one' })
  })
})

describe('the answer to a commit of a delete that is lost', () => {
  it('is found to have taken place', async () => {
    const { id } = await store.put({ name: 'one' })
    plan = ({ operation }) =>
      operation === 'replace' ? { after: () => Promise.reject(unknownOutcome()) } : undefined
    expect(await store.delete(id)).toBe(true)
    expect(sent.filter((operation) => operation === 'replace')).toHaveLength(1)
  })

  it.each([
    ['a put', { name: 'theirs' }, null],
    ['a delete', null, { name: 'ours' }],
  ])('is not taken for %s of another process that chose the same version', async (_, theirs, ours) => {
    const { id } = await store.put({ name: 'one' })
    const body = theirs === null ? null : store.context.codec.encode(theirs)
    plan = ({ operation, shard, args }) =>
      operation === 'replace'
        ? {
            async before() {
              const [rows, options] = args as Parameters<EntityTable['replace']>
              const others = rows.map((row) => ({ ...row, body }))
              await memory.shards[shard]!.entities.replace(others, options)
              throw unknownOutcome()
            },
          }
        : undefined
    const write = ours === null ? store.delete(id) : store.put(ours, { id })
    await expect(write).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN', cause: { code: 'CONFLICT' } })
    plan = () => undefined
    expect(await store.get(id)).toEqual(theirs === null ? undefined : { id, ...theirs })
  })
})

describe('what is told of an attempt whose outcome is not known', () => {
  beforeEach(() => {
    plan = ({ operation }) =>
      operation === 'replace' ? { before: () => Promise.reject(unknownOutcome()) } : undefined
  })

  it('is that another write came between', async () => {
    const { id } = await store.put({ name: 'one' })
    const rival = await open()
    plan = ({ operation }) => {
      if (operation !== 'replace') return undefined
      plan = () => undefined
      return {
        async before() {
          await rival.put({ name: 'theirs' }, { id })
          throw unknownOutcome()
        },
      }
    }
    await expect(store.put({ name: 'ours' }, { id })).rejects.toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      cause: { code: 'CONFLICT', message: `Entity ${id} was written by another since.` },
    })
  })

  it('the message says that the entity would stay as it was found', async () => {
    const { id } = await store.put({ name: 'one' })
    let calls = 0
    const update = store.update(id, () => (++calls === 1 ? { name: 'two' } : unchanged))
    await expect(update).rejects.toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      cause: {
        code: 'CONFLICT',
        message: `Entity ${id} would stay as it was found, while an earlier attempt of this call may still be committed.`,
      },
    })
  })
})

describe('a catalog that has changed', () => {
  it('is read before the next attempt', async () => {
    const { id } = await store.put({ name: 'one' })
    await changeCatalog(memory, (indexes) => indexes)
    plan = ({ table, operation }) =>
      table === 'catalog' && operation === 'load'
        ? { after: () => new Promise((resolve) => setTimeout(resolve, 5)) }
        : undefined
    sent.length = 0
    await store.put({ name: 'two' }, { id })
    expect(sent.filter((operation) => operation === 'replace')).toHaveLength(2)
  })
})

describe('an entity that is found', () => {
  it('but makes the codec throw what no codec should is not written over', async () => {
    const { codec } = store.context
    const { id } = await store.put({ name: 'one' })
    let isBroken = false
    const broken = await open({
      codec: {
        ...codec,
        decode(body) {
          if (isBroken) throw new TypeError('a bug')
          return codec.decode(body)
        },
      },
    })
    isBroken = true
    await expect(broken.put({ name: 'two' }, { id })).rejects.toThrow('a bug')
    expect(await store.get(id)).toEqual({ id, name: 'one' })
  })
})

describe("writeOrder: 'entity-first'", () => {
  it('says what was written', async () => {
    const first = await open({ writeOrder: 'entity-first' })
    const { id, created } = await first.put({ name: 'one' })
    expect(created).toBe(true)
    expect(await first.delete(id)).toBe(true)
    expect(await first.delete(id)).toBe(false)
  })
})
