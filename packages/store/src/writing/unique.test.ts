import { LooseleafError, parseId, type Bag, type DriverFactory, type Shard } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex, type IndexDefinition } from '@looseleaf/index-engine'
import { faultyDriver, keepOpen, unknownOutcome, type FaultPlan } from '@looseleaf/testkit'
import { farRouter } from '@looseleaf-tooling/kit/far-router'
import { afterEach, describe, expect, it } from 'vitest'
import { DataStore } from '../data-store.ts'

const byMail = defineIndex('users_by_mail', {
  properties: { mail: { type: 'string', key: 'lower' } },
  shardOn: 'mail',
  unique: true,
})
const bySeat = defineIndex('by_seat', {
  properties: { train: 'string', seat: { type: 'integer', nulls: 'first' } },
  shardOn: 'train',
  unique: true,
})
const byPhone = defineIndex('by_phone', {
  properties: { phones: 'string[]' },
  shardOn: 'phones',
  unique: true,
})

const opened: DataStore[] = []
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close()
})

async function open(plan: FaultPlan = () => undefined, shared = memoryShards(3)): Promise<DataStore> {
  const shards: DriverFactory = {
    shardCount: 3,
    connect: async () => faultyDriver(await shared.connect(), (call) => plan(call)),
  }
  const indexes = [byMail, bySeat, byPhone]
  const store = await DataStore.open({
    shards,
    indexes,
    migrate: true,
    queryTimeMs: 50,
    router: farRouter(3),
  })
  opened.push(store)
  return store
}

/** Opens two stores on the same databases, as two processes. */
async function openTwo(): Promise<readonly [DataStore, DataStore]> {
  const driver = await memoryShards(3).connect()
  const shared = keepOpen(driver)
  return [await open(undefined, shared), await open(undefined, shared)]
}

/** Returns all entities. A scan has no deadline: a count with this short `queryTimeMs` would need a quick machine. */
async function bagsOf(store: DataStore): Promise<Bag[]> {
  const bags: Bag[] = []
  for await (const bag of store.scan()) bags.push(bag)
  return bags
}

/** Returns the holder of each claimed key. */
async function claims(store: DataStore, table = 'claims_users_by_mail'): Promise<Record<string, string>> {
  const { catalog, driver } = store.context
  const entry = catalog.current().indexes.find((each) => each.table === table)!
  const columns = [{ name: 'mail', type: 'string' as const }]
  const spec = { table: entry.table, columns, unique: true as const }
  const rows = await Promise.all(
    driver.shards.map((shard: Shard) => shard.index(spec).scan({ prefix: [], order: 'asc', limit: 1000 })),
  )
  return Object.fromEntries(
    rows
      .flat()
      .map(({ key, entityId }) => [
        Buffer.from(key[0] as Uint8Array).toString(),
        Buffer.from(entityId).toString('hex'),
      ]),
  )
}

const hex = (id: string): string => Buffer.from(parseId(id)).toString('hex')

describe('a key of a unique index', () => {
  it('a unique key belongs to one entity over all shards, and the error names its holder', async () => {
    const store = await open()
    const { id } = await store.put({ mail: 'Ada@example.com' })
    for (let other = 0; other < 10; other++) {
      await expect(store.put({ mail: 'ada@EXAMPLE.com' })).rejects.toMatchObject({
        code: 'DUPLICATE_KEY',
        retryable: false,
        index: 'users_by_mail',
        holder: id,
        message: expect.stringContaining(id) as string,
      })
    }
    expect(await bagsOf(store)).toHaveLength(1)
  })

  it('a unique key stays with its entity through writes that do not change it', async () => {
    const store = await open()
    const { id } = await store.put({ mail: 'ada', n: 1 })
    await store.put({ mail: 'ADA', n: 2 }, { id })
    await store.update(id, (bag) => ({ ...bag, n: 3 }))
    expect(await store.get(id)).toMatchObject({ mail: 'ADA', n: 3 })
    expect(await claims(store)).toEqual({ ada: hex(id) })
  })

  it('a unique key is free again when its entity has another key or is deleted', async () => {
    const store = await open()
    const { id } = await store.put({ mail: 'ada' })
    await store.put({ mail: 'lovelace' }, { id })
    await store.settled()
    expect(await claims(store)).toEqual({ lovelace: hex(id) })
    const { id: second } = await store.put({ mail: 'ada' })
    await store.delete(second)
    await store.settled()
    expect(await claims(store)).toEqual({ lovelace: hex(id) })
    await store.put({ mail: 'ada' }, { id })
    await store.settled()
    expect(await claims(store)).toEqual({ ada: hex(id) })
  })

  it('a unique key is free at once although its claim is not deleted yet', async () => {
    let isStuck = false
    const store = await open(({ operation, table }) =>
      isStuck && operation === 'remove' && table.startsWith('claims')
        ? {
            before() {
              throw new LooseleafError('SHARD_UNAVAILABLE', 'Away.')
            },
          }
        : undefined,
    )
    const { id } = await store.put({ mail: 'ada' })
    isStuck = true
    await store.put({ mail: 'lovelace' }, { id })
    expect(Object.keys(await claims(store)).toSorted()).toEqual(['ada', 'lovelace'])
    const { id: second } = await store.put({ mail: 'ada' })
    expect(await claims(store)).toEqual({ ada: hex(second), lovelace: hex(id) })
    // The former holder stays as it was.
    expect(await store.get(id)).toMatchObject({ mail: 'lovelace' })
  })

  it('an entity may take back a unique key that it has lost, unless another entity has it', async () => {
    const store = await open()
    const { id } = await store.put({ mail: 'ada' })
    await store.put({}, { id })
    await store.put({ mail: 'ada' }, { id })
    await store.put({}, { id })
    const { id: second } = await store.put({ mail: 'ada' })
    await expect(store.put({ mail: 'ada' }, { id })).rejects.toMatchObject({ holder: second })
    expect(await store.get(id)).toEqual({ id })
  })

  it('an entity without one of the properties claims no unique key', async () => {
    const store = await open()
    await store.put({ train: 'ICE 1', seat: 5 })
    await store.put({ train: 'ICE 1' })
    await store.put({ train: 'ICE 1' })
    await store.put({ seat: 5 })
    await store.put({ seat: 5 })
    await expect(store.put({ train: 'ICE 1', seat: 5 })).rejects.toMatchObject({ code: 'DUPLICATE_KEY' })
    expect(
      (await bagsOf(store)).filter(({ train, seat }) => train === 'ICE 1' && seat === undefined),
    ).toHaveLength(2)
  })

  it('each element of an array is a unique key', async () => {
    const store = await open()
    const { id } = await store.put({ phones: ['1', '2'] })
    await expect(store.put({ phones: ['3', '2'] })).rejects.toMatchObject({ holder: id })
    // The rejected write has given its other key back.
    await store.put({ phones: ['3'] })
    await store.put({ phones: ['1'] }, { id })
    await store.put({ phones: ['2', '4'] })
  })

  it('a put without an id that is rejected for one unique key gives its other keys back', async () => {
    const store = await open()
    await store.put({ mail: 'ada' })
    await expect(store.put({ mail: 'ada', phones: ['1'] })).rejects.toMatchObject({ code: 'DUPLICATE_KEY' })
    await store.settled()
    expect(await claims(store, 'claims_by_phone')).toEqual({})
    // A write to a given id leaves the claim, because another write of that entity may rely on it.
    const { id } = await store.put({ mail: 'eve' })
    const replaced = store.put({ mail: 'ada', phones: ['1'] }, { id })
    await expect(replaced).rejects.toMatchObject({ code: 'DUPLICATE_KEY' })
    await store.settled()
    expect(await claims(store, 'claims_by_phone')).toEqual({ 1: hex(id) })
  })

  it('insert and update take unique keys as well', async () => {
    const store = await open()
    await store.insert({ mail: 'ada' })
    await expect(store.insert({ mail: 'ada' })).rejects.toMatchObject({ code: 'DUPLICATE_KEY' })
    const { id } = await store.put({ mail: 'eve' })
    const renaming = store.update(id, (bag) => ({ ...bag, mail: 'ada' }))
    await expect(renaming).rejects.toMatchObject({ code: 'DUPLICATE_KEY' })
    await expect(store.put({ mail: 'ada' })).rejects.toMatchObject({ code: 'DUPLICATE_KEY' })
  })
})

describe('a program whose index is unique', () => {
  const plain = defineIndex('users_by_mail', {
    properties: { mail: { type: 'string', key: 'lower' } },
    shardOn: 'mail',
  })

  it('open warns while an index of the program is not unique in the store', async () => {
    const shards = keepOpen(await memoryShards(2).connect())
    const warnings: string[] = []
    const openWith = async (index: IndexDefinition, migrate: boolean): Promise<DataStore> => {
      warnings.length = 0
      const onWarning = (message: string): void => void warnings.push(message)
      const store = await DataStore.open({ shards, indexes: [index], migrate, onWarning })
      opened.push(store)
      return store
    }
    const store = await openWith(plain, true)
    await store.put({ mail: 'ada' })
    expect(warnings).toEqual([])
    await openWith(byMail as unknown as IndexDefinition, false)
    expect(warnings).toEqual([
      expect.stringMatching(/users_by_mail is unique in this program but not in the store/),
    ])
    await openWith(byMail as unknown as IndexDefinition, true)
    expect(warnings).toEqual([expect.stringMatching(/users_by_mail is not unique yet/)])
    // A program without `unique` gets no warning, and the claims stay.
    await openWith(plain, true)
    expect(warnings).toEqual([])
    expect((await store.indexes()).map(({ table }) => table)).toEqual([
      'index_users_by_mail',
      'claims_users_by_mail',
    ])
  })
})

describe('concurrent writes of one unique key', () => {
  it('exactly one of many concurrent writes of a unique key succeeds, over all processes', async () => {
    const stores = await openTwo()
    for (let round = 0; round < 20; round++) {
      const mail = `user ${round}`
      const results = await Promise.allSettled(
        Array.from({ length: 8 }, (_, n) => stores[n % 2]!.put({ mail })),
      )
      const won = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value.id] : []))
      expect(won).toHaveLength(1)
      for (const result of results) {
        if (result.status === 'rejected')
          expect(result.reason).toMatchObject({ code: 'DUPLICATE_KEY', holder: won[0] })
      }
      expect(await claims(stores[0])).toMatchObject({ [mail]: hex(won[0]!) })
    }
  })

  it('two concurrent writes that exchange unique keys both fail', async () => {
    const [one, two] = await openTwo()
    const { id: a } = await one.put({ mail: 'a' })
    const { id: b } = await one.put({ mail: 'b' })
    await Promise.allSettled([one.put({ mail: 'b' }, { id: a }), two.put({ mail: 'a' }, { id: b })])
    const mails = [(await one.get(a))?.['mail'], (await one.get(b))?.['mail']]
    expect(mails).toEqual(['a', 'b'])
  })

  it(
    'a write takes a unique key whose claim belongs to an attempt that never commits',
    { timeout: 20_000 },
    async () => {
      const shared = keepOpen(await memoryShards(3).connect())
      let holdsUp = false
      const reached = Promise.withResolvers<void>()
      const stuck = await open(({ operation, table }) => {
        if (!holdsUp || table !== 'entities' || operation !== 'insert') return undefined
        return {
          async before() {
            reached.resolve()
            await new Promise(() => {})
          },
        }
      }, shared)
      const store = await open(undefined, shared)
      holdsUp = true
      // This write holds the claim and never commits.
      void stuck.put({ mail: 'ada' }).catch(() => {})
      await reached.promise
      const { id } = await store.put({ mail: 'ada' })
      expect(await claims(store)).toEqual({ ada: hex(id) })
      opened.splice(opened.indexOf(stuck), 1)
    },
  )
})

describe('faults of a database', () => {
  const isTake = (call: { operation: string; table: string }): boolean =>
    call.operation === 'take' && call.table.startsWith('claims')

  it('a write fails and writes nothing if the shard of its claim is down', async () => {
    let isAway = false
    const store = await open((call) =>
      isAway && isTake(call)
        ? {
            before() {
              throw new LooseleafError('SHARD_UNAVAILABLE', 'Away.')
            },
          }
        : undefined,
    )
    isAway = true
    await expect(store.put({ mail: 'ada' })).rejects.toMatchObject({
      code: 'SHARD_UNAVAILABLE',
      retryable: true,
    })
    isAway = false
    expect(await bagsOf(store)).toEqual([])
    await store.put({ mail: 'ada' })
  })

  it('a write that is rejected for one unique key stops taking its other keys', async () => {
    const fences: string[] = []
    const store = await open(({ operation, table }) => {
      if (table === 'entities' && operation === 'replace') fences.push(operation)
      return undefined
    })
    await store.put({ mail: 'ada' })
    // A crashed attempt holds the claim of the other key. A write that still wants it would fence that attempt after a while.
    const { id, version } = await store.put({ phones: ['1'] })
    await store.put({ phones: [] }, { id })
    await store.settled()
    const entry = store.context.catalog.current().indexes.find(({ table }) => table === 'claims_by_phone')!
    const spec = {
      table: entry.table,
      columns: [{ name: 'phones', type: 'string' as const }],
      unique: true as const,
    }
    const key = [Buffer.from('2')]
    for (const shard of store.context.driver.shards)
      await shard.claims(spec).take([{ key, entityId: parseId(id), version: version + 60_000_000 }])
    fences.length = 0
    await expect(store.put({ mail: 'ada', phones: ['2'] })).rejects.toMatchObject({ code: 'DUPLICATE_KEY' })
    await new Promise((resolve) => setTimeout(resolve, 400))
    expect(fences).toEqual([])
  })

  it('a lost answer to a claim fails the write with a known outcome, and the same call may be repeated', async () => {
    let losses = 1
    const store = await open((call) =>
      isTake(call) && losses-- > 0
        ? {
            after() {
              throw unknownOutcome()
            },
          }
        : undefined,
    )
    const id = store.newId()
    const error: unknown = await store.put({ mail: 'ada' }, { id }).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ retryable: true, unknownOutcome: false })
    expect(String(error)).toContain('This concerns an index row only: the entity was not written.')
    await store.put({ mail: 'ada' }, { id })
    await expect(store.put({ mail: 'ada' })).rejects.toMatchObject({ holder: id })
  })

  it('a commit whose answer is lost keeps its unique key', async () => {
    let losses = 0
    const store = await open(({ operation, table }) =>
      table === 'entities' && operation === 'insert' && losses > 0 && losses-- > 0
        ? {
            after() {
              throw unknownOutcome()
            },
          }
        : undefined,
    )
    losses = 1
    const { id } = await store.put({ mail: 'ada' })
    expect(losses).toBe(0)
    await expect(store.put({ mail: 'ada' })).rejects.toMatchObject({ holder: id })
  })
})
