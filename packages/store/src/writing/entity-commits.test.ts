import { LooseleafError, parseId } from '@looseleaf/core'
import type { EntityTable } from '@looseleaf/core/internal'
import { defineIndex } from '@looseleaf/index-engine'
import { changeCatalog } from '@looseleaf/index-engine/internal'
import { type FaultPlan, faultyDriver, keepOpen, unknownOutcome, withoutPauses } from '@looseleaf/testkit'
import { createReferenceDriver, type ReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DataStore } from '../data-store.ts'
import { unchanged } from '../unchanged.ts'
import type { DataStoreOptions } from '../types.ts'

// Answers of a database to the commit of an entity, and how a write handles them.

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })

let memory: ReferenceDriver
let plan: FaultPlan
/** Statements on entities, in order. */
let sent: string[]
let store: DataStore

function open(options: Partial<DataStoreOptions> = {}): Promise<DataStore> {
  const driver = faultyDriver(memory, (call) => {
    // Looks belong to no write.
    if (call.table === 'entities' && call.operation !== 'floor') sent.push(call.operation)
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

/** Runs `before` before the first statement of this kind. */
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
  it('a put replaces an entity that another process has just made under its new id', async () => {
    const rival = await open()
    const id = store.newId()
    beforeFirst('insert', () => rival.put({ name: 'theirs' }, { id }))
    const { created } = await store.put({ name: 'ours' }, { id })
    expect(created).toBe(false)
    expect(await store.get(id)).toEqual({ id, name: 'ours' })
    expect(await names('ours')).toEqual([id])
    expect(sent.filter((operation) => operation === 'replace')).toHaveLength(1)
  })

  it('an insert rejects with ALREADY_EXISTS if another process has just made the entity', async () => {
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
    'a permanent error of a commit ends the write without another attempt (%s: %s)',
    async (operation, error) => {
      const id = store.newId()
      if (operation === 'replace') await store.put({ name: 'before' }, { id })
      sent.length = 0
      plan = (call) => (call.operation === operation ? { before: () => Promise.reject(error) } : undefined)
      await expect(store.put({ name: 'after' }, { id })).rejects.toEqual(error)
      expect(sent).toEqual(['read', operation])
    },
  )

  it('an aborted signal ends the wait for a commit with ABORTED', async () => {
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

  it('a commit that was read back and then lost in a crash is repeated', async () => {
    const id = store.newId()
    const shard = memory.shards[store.context.router.shardOfId(parseId(id))]!
    const before = shard.state()
    let flushes = 0
    plan = ({ operation }) => {
      if (operation === 'insert' && flushes === 0) return { after: () => Promise.reject(unknownOutcome()) }
      // The server has crashed and come back without the commit.
      return operation === 'flush' && flushes++ === 0
        ? { before: () => shard.fallBack(before, 'entities') }
        : undefined
    }
    await store.put({ name: 'one' }, { id })
    expect(sent.filter((operation) => operation === 'insert')).toHaveLength(2)
    expect(await store.get(id)).toEqual({ id, name: 'one' })
  })
})

describe('a delete whose answer is lost', () => {
  it('a delete whose answer is lost is read back as committed', async () => {
    const { id } = await store.put({ name: 'one' })
    plan = ({ operation }) =>
      operation === 'replace' ? { after: () => Promise.reject(unknownOutcome()) } : undefined
    expect(await store.delete(id)).toBe(true)
    expect(sent.filter((operation) => operation === 'replace')).toHaveLength(1)
  })

  it.each([
    ['a put', { name: 'theirs' }, null],
    ['a delete', null, { name: 'ours' }],
  ])(
    'a delete whose answer is lost does not mistake %s of another process with the same version for its own',
    async (_, theirs, ours) => {
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
    },
  )
})

describe('an attempt without an answer', () => {
  beforeEach(() => {
    plan = ({ operation }) =>
      operation === 'replace' ? { before: () => Promise.reject(unknownOutcome()) } : undefined
  })

  it('the error of an attempt without an answer says that another write came in between', async () => {
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
      cause: { code: 'CONFLICT', message: `Entity ${id} was written by another writer since.` },
    })
  })

  it('the error of an update that returns unchanged says that an earlier attempt may still be committed', async () => {
    const { id } = await store.put({ name: 'one' })
    let calls = 0
    const update = store.update(id, () => (++calls === 1 ? { name: 'two' } : unchanged))
    await expect(update).rejects.toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      cause: {
        code: 'CONFLICT',
        message: `Entity ${id} needs no write now, but an earlier attempt of this call may still be committed.`,
      },
    })
  })
})

describe('a catalog that has changed', () => {
  it('a write reads a changed catalog before its next attempt', async () => {
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

describe('a codec with a fault', () => {
  it('a write does not replace an entity for which the codec throws an error that is no LooseleafError', async () => {
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
  it('entity-first writes report whether they have created or deleted an entity', async () => {
    const first = await open({ writeOrder: 'entity-first' })
    const { id, created } = await first.put({ name: 'one' })
    expect(created).toBe(true)
    expect(await first.delete(id)).toBe(true)
    expect(await first.delete(id)).toBe(false)
  })
})
