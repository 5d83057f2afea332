import { LooseleafError, type Driver, type EntityId } from '@looseleaf/core'
import type { CatalogEntry, IndexState, ShardCatalog } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { tableSpec } from '@looseleaf/index-engine/internal'
import { bucketRouter } from '@looseleaf/router'
import { faultyDriver, keepOpen, type FaultyCall } from '@looseleaf/testkit'
import { withCode } from '@looseleaf-tooling/kit/errors'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DataStore } from '../data-store.ts'
import type { DataStoreOptions } from '../types.ts'

const byLink = defineIndex('by_link', { properties: { link: 'string' }, shardOn: 'link' })
const byRank = defineIndex('by_rank', { properties: { rank: 'integer' }, shardOn: 'id' })

/** The error of a silent shard. */
const outageOf = (shard: number): object => ({
  code: 'SHARD_UNAVAILABLE',
  shard: `memory ${shard}`,
  retryable: true,
})

let memory: Driver
beforeEach(async () => {
  memory = await memoryShards(2).connect()
})
afterEach(async () => {
  await memory.close()
})

/** A process for which alone shards may be silent. */
interface Process {
  readonly store: DataStore
  readonly warnings: readonly string[]
  readonly down: Set<number>
  /** Operations sent to each shard, as `table operation`. */
  readonly sent: readonly (readonly string[])[]
}

async function start(
  down: readonly number[] = [],
  options: Partial<DataStoreOptions> = {},
): Promise<Process> {
  const process = {
    warnings: [] as string[],
    down: new Set(down),
    sent: memory.shards.map((): string[] => []),
  }
  const driver = faultyDriver(memory, ({ shard, table, operation }: FaultyCall) => {
    process.sent[shard]!.push(`${table} ${operation}`)
    if (!process.down.has(shard)) return undefined
    const { name } = memory.shards[shard]!
    return {
      before() {
        throw new LooseleafError('SHARD_UNAVAILABLE', `${name} is away.`, { shard: name })
      },
    }
  })
  const store = await DataStore.open({
    shards: keepOpen(driver),
    onWarning: (warning) => process.warnings.push(warning),
    ...options,
  })
  return { store, ...process }
}

const router = bucketRouter({ shards: 2 })

/** Returns an id on this shard, and a link whose rows are on it. */
function onShard(shard: number): { id: EntityId; link: string } {
  const store = { newId: () => Buffer.from(router.newId()).toString('hex') }
  let id: string
  do id = store.newId()
  while (router.shardOfId(Buffer.from(id, 'hex')) !== shard)
  const links = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
  const link = links.find((each) => router.shardOfKey(Buffer.from(each)) === shard)!
  return { id: id.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'), link }
}

const loadAll = (): Promise<(ShardCatalog | undefined)[]> =>
  Promise.all(memory.shards.map(({ catalog }) => catalog.load()))

/** Sets the state of an index in the catalog of one shard; undefined removes it. */
async function setState(shard: number, entry: CatalogEntry, state: IndexState | undefined): Promise<void> {
  const { catalog } = memory.shards[shard]!
  const current = (await catalog.load())!
  const others = current.indexes.filter(({ table }) => table !== entry.table)
  const indexes = state === undefined ? others : [...others, { ...entry, state }]
  await catalog.change({ ...current, indexes, epoch: current.epoch + 1 }, current.epoch)
}

describe.each([
  ['the first shard', 0],
  ['another shard', 1],
])('a process that starts while %s does not answer', (_, silent) => {
  const heard = 1 - silent
  const onHeard = onShard(heard)
  const onSilent = onShard(silent)

  beforeEach(async () => {
    const { store } = await start([], { migrate: true, indexes: [byLink, byRank] })
    for (const { id, link } of [onHeard, onSilent]) await store.put({ link, rank: 1 }, { id })
  })

  it('a process without a silent shard serves the entities and rows of the others', async () => {
    const { store, warnings } = await start([silent])
    expect(warnings).toEqual([`Calls that need this shard fail until it answers. memory ${silent} is away.`])
    expect(await store.get(onHeard.id)).toMatchObject({ link: onHeard.link })
    expect(await store.getAll(byLink, { link: onHeard.link })).toHaveLength(1)
    const { id } = await store.put({ link: onHeard.link, rank: 2 }, { id: onShard(heard).id })
    await store.update(onHeard.id, (bag) => ({ ...bag, rank: 3 }))
    expect((await store.getAll(byLink, { link: onHeard.link })).map((item) => item.id).toSorted()).toEqual(
      [onHeard.id, id].toSorted(),
    )
    expect(await store.delete(onHeard.id)).toBe(true)
  })

  it('calls that need a silent shard reject with its name', async () => {
    const { store } = await start([silent])
    const calls = [
      () => store.get(onSilent.id),
      () => store.put({ rank: 1 }, { id: onSilent.id }),
      () => store.put({ link: onSilent.link, rank: 1 }, { id: onShard(heard).id }),
      () => store.insert({ rank: 1 }, { id: onShard(silent).id }),
      () => store.query(byLink, { link: onSilent.link }),
      () => store.count(byRank, { rank: 1 }, { scatter: true }),
      () => store.query(byRank, { rank: 1 }, { scatter: true }),
      () => Array.fromAsync(store.scan()),
      () => store.addIndex(defineIndex('by_size', { properties: { size: 'integer' }, shardOn: 'id' })),
      () => store.dropIndex('by_rank'),
    ]
    for (const call of calls) await expect(call()).rejects.toMatchObject(outageOf(silent))
  })

  it('writes succeed on a shard that is back, although its epoch was never known', async () => {
    const { store, down } = await start([silent])
    expect(store.context.catalog.current().epochs[silent]).toBe(0)
    down.clear()
    await store.update(onSilent.id, (bag) => ({ ...bag, rank: 2 }))
    expect(await store.count(byRank, { rank: 2 }, { scatter: true })).toBe(1)
  })

  it('writes on a shard that is back include an index that was added since', async () => {
    const { store, down } = await start([silent])
    down.clear()
    const other = await start()
    const bySize = defineIndex('by_size', { properties: { size: 'integer' }, shardOn: 'id' })
    await other.store.addIndex(bySize)
    const { id } = onShard(silent)
    await store.put({ size: 7 }, { id })
    const entry = other.store.context.catalog.current().indexes.find(({ name }) => name === 'by_size')!
    const rows = await memory.shards[silent]!.index(tableSpec(entry)).scan({
      prefix: [],
      order: 'asc',
      limit: 9,
    })
    expect(rows).toHaveLength(1)
  })

  it('a shard that is back is checked once, before all waiting calls', async () => {
    const { store, down, sent } = await start([silent])
    down.clear()
    const before = sent[silent]!.length
    expect(await Promise.all(Array.from({ length: 20 }, () => store.get(onSilent.id)))).toHaveLength(20)
    expect(sent[silent]!.slice(before, before + 2)).toEqual(['catalog load', 'shard warnings'])
    // One at the opening, one for the check, and one by which the process learns its buckets.
    expect(sent[silent]!.filter((call) => call === 'catalog load')).toHaveLength(3)
  })

  it.each<[string, (catalog: ShardCatalog) => ShardCatalog, string]>([
    ['another store’s', (catalog) => ({ ...catalog, storeId: 'other' }), 'LAYOUT_MISMATCH'],
    ['another one of the store', (catalog) => ({ ...catalog, shardNumber: heard }), 'LAYOUT_MISMATCH'],
    [
      'of a store with more shards',
      (catalog) => ({ ...catalog, shardCount: 3, layout: undefined }),
      'LAYOUT_MISMATCH',
    ],
    [
      'routed otherwise',
      (catalog) => ({ ...catalog, router: 'modulo', layout: undefined }),
      'LAYOUT_MISMATCH',
    ],
  ])('a shard that is back gets no statement if it is %s', async (__, change, code) => {
    const { store, down, sent } = await start([silent])
    const { catalog } = memory.shards[silent]!
    const right = (await catalog.load())!
    await catalog.change(change(right), right.epoch)
    down.clear()
    const calls = [
      () => store.get(onSilent.id),
      () => store.put({ rank: 1 }, { id: onShard(silent).id }),
      () => store.put({ link: onSilent.link }, { id: onShard(heard).id }),
      () => store.getAll(byLink, { link: onSilent.link }),
      () => store.status().then(({ shards }) => Promise.reject(shards[silent]!.error)),
    ]
    for (const call of calls) await expect(call()).rejects.toMatchObject({ code, shard: `memory ${silent}` })
    expect(new Set(sent[silent])).toEqual(new Set(['catalog load']))

    const current = (await catalog.load())!
    await catalog.change(right, current.epoch)
    expect(await store.get(onSilent.id)).toMatchObject({ link: onSilent.link })
  })

  it('a shard that is back gets no statement if it is empty', async () => {
    const { store, down, sent } = await start([silent])
    await memory.shards[silent]!.dropIndexTable({ table: 'looseleaf_meta', columns: [] })
    down.clear()
    await expect(store.get(onSilent.id)).rejects.toEqual(withCode('NOT_MIGRATED'))
    expect(new Set(sent[silent])).toEqual(new Set(['catalog load']))
  })

  it('status has the numbers of the shards that answer and the errors of the others', async () => {
    const { store, down } = await start([silent])
    const { epoch } = (await memory.shards[heard]!.catalog.load())!
    const status = await store.status()
    expect(status.shards[heard]).toMatchObject({ error: undefined, epoch, entities: 1, tombstones: 0 })
    expect(status.shards[silent]).toMatchObject({
      name: `memory ${silent}`,
      error: outageOf(silent),
      epoch: undefined,
      entities: undefined,
      tombstones: undefined,
      warnings: [],
    })
    expect(status.indexes.map(({ name, state }) => `${name} ${state}`)).toEqual([
      'by_link ready',
      'by_rank ready',
    ])
    expect((await store.indexes()).map(({ name }) => name)).toEqual(['by_link', 'by_rank'])
    down.clear()
    expect((await store.status()).shards.every(({ error, entities }) => !error && entities === 1)).toBe(true)
  })

  it('migrate changes nothing while a shard is silent, and warns', async () => {
    const before = await loadAll()
    const bySize = defineIndex('by_size', { properties: { size: 'integer' }, shardOn: 'id' })
    const { store, warnings, sent } = await start([silent], { migrate: true, indexes: [byLink, bySize] })
    expect(warnings[0]).toMatch(new RegExp(`^Nothing was created or changed.* memory ${silent} is away\\.$`))
    expect(await loadAll()).toEqual(before)
    expect(sent.flat().filter((call) => /create|init|change|drop/.test(call))).toEqual([])
    expect(await store.get(onHeard.id)).toMatchObject({ link: onHeard.link })
  })

  it('a query of an index that only a silent shard may have rejects with that shard', async () => {
    const { store, down } = await start([silent])
    const bySize = defineIndex('by_size', { properties: { size: 'integer' }, shardOn: 'id' })
    await expect(store.query(bySize, {}, { scatter: true })).rejects.toMatchObject(outageOf(silent))
    down.clear()
    await expect(store.query(bySize, {}, { scatter: true })).rejects.toEqual(withCode('INDEX_NOT_FOUND'))
  })

  it.each<
    [IndexState | undefined, IndexState | undefined, 'answers' | 'INDEX_NOT_READY' | 'SHARD_UNAVAILABLE']
  >([
    ['ready', 'ready', 'answers'],
    ['ready', 'building', 'answers'],
    ['ready', 'retiring', 'answers'],
    ['building', 'ready', 'INDEX_NOT_READY'],
    ['building', 'building', 'INDEX_NOT_READY'],
    ['building', 'dropped', 'INDEX_NOT_READY'],
    ['retiring', 'ready', 'SHARD_UNAVAILABLE'],
    ['retiring', 'dropped', 'SHARD_UNAVAILABLE'],
    ['dropped', 'building', 'SHARD_UNAVAILABLE'],
    ['dropped', 'dropped', 'SHARD_UNAVAILABLE'],
    [undefined, 'ready', 'SHARD_UNAVAILABLE'],
  ])(
    'a query of an index that is %s on the others and %s on the silent shard gets: %s',
    async (ofHeard, ofSilent, outcome) => {
      const { store: any } = await start()
      const entry = any.context.catalog.current().indexes.find(({ name }) => name === 'by_link')!
      await setState(heard, entry, ofHeard)
      await setState(silent, entry, ofSilent)
      const { store } = await start([silent])
      const query = store.query(byLink, { link: onHeard.link })
      if (outcome === 'answers') expect((await query).items).toMatchObject([{ link: onHeard.link }])
      else await expect(query).rejects.toEqual(withCode(outcome))
      // Writes include the index if a shard that answers has it in use. The silent shard takes no write of this process yet.
      const { id } = onShard(heard)
      await store.put({ link: onHeard.link }, { id })
      const rows = await memory.shards[heard]!.index(tableSpec(entry)).scan({
        prefix: [],
        order: 'asc',
        limit: 9,
      })
      const isWritten = ofHeard !== undefined && ofHeard !== 'dropped'
      const own = rows.filter((row) => Buffer.from(row.entityId).toString('hex') === id.replaceAll('-', ''))
      expect(own).toHaveLength(isWritten ? 1 : 0)
    },
  )

  it('a process without a silent shard defers only if all processes look for pending rows already', async () => {
    const { store: early } = await start([silent], { onIndexFailure: 'defer' })
    await expect(early.put({ link: onSilent.link }, { id: onShard(heard).id })).rejects.toMatchObject(
      outageOf(silent),
    )
    for (const { catalog } of memory.shards) {
      const current = (await catalog.load())!
      const defers = { mayDefer: true, onIndexFailure: 'defer' } as const
      await catalog.change({ ...current, ...defers, epoch: current.epoch + 1 }, current.epoch)
    }
    const { store } = await start([silent], { onIndexFailure: 'defer' })
    expect(await store.put({ link: onSilent.link }, { id: onShard(heard).id })).toMatchObject({
      indexed: false,
    })
    expect((await store.query(byLink, { link: onHeard.link })).cost.complete).toBe(false)
  })
})

it('open rejects while no shard answers', async () => {
  await start([], { migrate: true })
  await expect(start([0, 1])).rejects.toMatchObject(outageOf(0))
})

it('status has the error of each shard and the known catalog while no shard answers', async () => {
  const { store, down } = await start([], { migrate: true, indexes: [byLink], deleteDelayMs: 60_000 })
  const { storeId, policies, indexes } = await store.status()
  for (const silent of [0, 1]) down.add(silent)
  const status = await store.status()
  expect(status).toMatchObject({ storeId, policies, indexes })
  expect(indexes.map(({ name }) => name)).toEqual(['by_link'])
  expect(policies.deleteDelayMs).toBe(60_000)
  for (const silent of [0, 1]) {
    expect(status.shards[silent]).toEqual({
      name: `memory ${silent}`,
      error: expect.objectContaining(outageOf(silent)) as unknown,
      epoch: undefined,
      entities: undefined,
      tombstones: undefined,
      warnings: [],
    })
  }
  down.clear()
  expect((await store.status()).shards.map(({ error }) => error)).toEqual([undefined, undefined])
})

it('no part of a store is made while a shard does not answer', async () => {
  for (const silent of [0, 1]) {
    await expect(start([silent], { migrate: true, indexes: [byLink] })).rejects.toMatchObject({
      ...outageOf(silent),
      message: expect.stringMatching(/^Nothing was created/),
    })
  }
  await expect(start([1])).rejects.toEqual(withCode('NOT_MIGRATED'))
  expect(await loadAll()).toEqual([undefined, undefined])
})

function logIsFull(): never {
  throw new Error('the log is full')
}

it.each([
  { how: 'throws', onWarning: (): void => logIsFull() },
  { how: 'rejects', onWarning: async (): Promise<void> => logIsFull() },
])('an onWarning that $how becomes a warning of Node', async ({ onWarning }) => {
  const emitted = new Promise<Error>((resolve) => process.once('warning', resolve))
  await start([], { migrate: true })
  await start([1], { onWarning })
  expect((await emitted).message).toContain('the log is full')
})

describe('a process that runs when a shard falls silent', () => {
  it('a running process learns of changes on the shards that answer, and keeps the known state of a silent one', async () => {
    const running = await start([], { migrate: true, indexes: [byLink] })
    const [first, second] = await loadAll()
    // Another process has changed the catalog of shard 0, and shard 1 is silent before it has the change.
    const entry = first!.indexes[0]!
    await setState(
      0,
      { ...entry, name: 'by_rank', table: 'index_by_rank', properties: byRank.properties, shardOn: 'id' },
      'building',
    )
    await memory.shards[0]!.createIndexTable({
      table: 'index_by_rank',
      columns: [{ name: 'rank', type: 'integer' }],
    })
    running.down.add(1)
    const { id, link } = onShard(0)
    await running.store.put({ link, rank: 4 }, { id })
    const { epochs, indexes } = running.store.context.catalog.current()
    expect(epochs).toEqual([first!.epoch + 1, second!.epoch])
    expect(indexes.map(({ name, state }) => `${name} ${state}`)).toEqual([
      'by_link ready',
      'by_rank building',
    ])
    const spec = { table: 'index_by_rank', columns: [{ name: 'rank', type: 'integer' as const }] }
    expect(await memory.shards[0]!.index(spec).count({ prefix: [] })).toBe(1)
  })
})
