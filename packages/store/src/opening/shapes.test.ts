import { envelopeCodec, msgpackZlibCodec } from '@looseleaf/codec'
import { formatId, LooseleafError, parseId, type Driver, type Entity, type Time } from '@looseleaf/core'
import type { CodecEntry, EntityInsert, StoredCodecEntry } from '@looseleaf/core/internal'
import { defineIndex } from '@looseleaf/index-engine'
import { createReferenceDriver, type ReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { faultyDriver, keepOpen } from '@looseleaf/testkit'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { DataStore } from '../data-store.ts'
import { inspectBodies } from './inspect-bodies.ts'

const SHAPED = 3
const byUser = defineIndex('by_user', {
  properties: { user: 'string', n: 'number' },
  shardOn: 'user',
  include: ['title'],
})

let reference: ReferenceDriver
let warnings: string[]

beforeEach(() => {
  reference = createReferenceDriver({ shards: 2 })
  warnings = []
})

/** A clock whose sleeps end at once, so that announcements do not wait. */
const time: Time = { now: () => Date.now(), sleep: async () => {} }

async function open(shapes = true, driver: Driver = reference, by: Time = time): Promise<DataStore> {
  const store = await DataStore.open({
    shards: keepOpen(driver),
    codec: envelopeCodec({ shapes }),
    indexes: [byUser],
    migrate: true,
    time: by,
    onWarning: (message) => void warnings.push(message),
  })
  onTestFinished(() => store.close())
  return store
}

const bagOf = (n: number): Record<string, unknown> & { n: number } => ({
  n,
  title: `number ${n}`,
  user: 'u',
  place: { city: 'Ulm', street: 'Main' },
})

async function put(store: DataStore, n: number): Promise<string> {
  return (await store.put(bagOf(n) as { n: number })).id
}

/** Returns the first byte of the stored body. */
async function formatOf(store: DataStore, id: string): Promise<number | undefined> {
  const bytes = parseId(id)
  const [row] = await reference.shards[store.context.router.shardOfId(bytes)]!.entities.read([bytes])
  return row?.body?.[0]
}

/** Puts entities until a body has a shape. Returns all ids, that of the shaped body last. */
async function putUntilShaped(store: DataStore): Promise<string[]> {
  const ids: string[] = []
  for (let n = 0; n < 200; n++) {
    ids.push(await put(store, n))
    if ((await formatOf(store, ids.at(-1)!)) === SHAPED) return ids
    await new Promise(setImmediate)
  }
  throw new Error('No body got a shape.')
}

const rowsOf = (shard: number): Map<string, unknown> => reference.shards[shard]!.codecEntries.rows

/** Returns the shape of the entities. The shape of the covering index's rows has other names. */
function theShape(): StoredCodecEntry {
  const rows = [...reference.shards[0]!.codecEntries.rows.values()]
  const [row, ...more] = rows.filter(({ bytes }) => String(bytes).includes('place'))
  expect(more).toEqual([])
  return row!
}

/** Puts one entity on each shard whose body refers to the shape. */
async function shapedOnBoth(store: DataStore): Promise<string[]> {
  await putUntilShaped(store)
  const found = new Map<number, string>()
  for (let n = 0; found.size < 2; n++) {
    const id = await put(store, n)
    found.set(store.context.router.shardOfId(parseId(id)), id)
  }
  return [found.get(0)!, found.get(1)!]
}

const withoutMeta = (entity: Entity | undefined): object | undefined => entity && { ...entity }

test('bodies refer to a shape only once every shard has it and the catalog requires processes to know shapes', async () => {
  const ready: boolean[] = []
  const watched = faultyDriver(reference, ({ table, operation, args }) => {
    const rows = operation === 'insert' && table === 'entities' ? (args[0] as EntityInsert[]) : []
    if (!rows.some(({ body }) => body?.[0] === SHAPED)) return undefined
    ready.push(
      ...reference.shards.map(
        ({ codecEntries, contents }) =>
          codecEntries.rows.size > 0 &&
          contents()?.requires?.some(({ name }) => name === 'definitions') === true,
      ),
    )
    return undefined
  })
  const store = await open(true, watched)
  const ids = await putUntilShaped(store)
  expect(ids.length).toBeGreaterThan(32)
  expect(ready.length).toBeGreaterThan(0)
  expect(ready).not.toContain(false)
  expect([...rowsOf(0).keys()]).toEqual([...rowsOf(1).keys()])
  // New processes read all bodies, with and without shapes, whether their codec writes shapes or not.
  for (const reader of [store, await open(), await open(false)]) {
    for (const [n, stored] of ids.entries()) {
      expect(withoutMeta(await reader.get(stored))).toEqual({ ...bagOf(n), id: stored })
    }
  }
  expect(warnings).toEqual([])
})

test('a codec without shapes writes self-contained bodies, and learns the shapes of other bodies', async () => {
  const plain = await open(false)
  const [first] = await shapedOnBoth(await open())
  expect(withoutMeta(await plain.get(first!))).toMatchObject({ place: { city: 'Ulm', street: 'Main' } })
  await plain.update(first!, (bag) => ({ ...bag, n: 7 }))
  expect(await formatOf(plain, first!)).toBe(1)
})

test('every way of reading loads an unknown shape', async () => {
  const readers = await Promise.all(Array.from({ length: 6 }, () => open(false)))
  const writer = await open()
  const [id, other] = await shapedOnBoth(writer)
  const page = await readers[0]!.query(byUser, { user: 'u' }, { limit: 5 })
  expect(page.items[0]).toMatchObject({ place: { city: 'Ulm', street: 'Main' } })
  const listed = await readers[1]!.list(byUser, { user: 'u' }, { limit: 5 })
  expect(listed.items[0]).toMatchObject({ title: expect.stringContaining('number') as string })
  const scanned: Entity[] = []
  for await (const entity of readers[2]!.scan()) scanned.push(entity)
  expect(scanned.length).toBeGreaterThan(33)
  const damaged: unknown[] = []
  for await (const one of readers[3]!.scanDamaged()) damaged.push(one)
  expect(damaged).toEqual([])
  expect(await readers[4]!.getMany([id!, other!])).toHaveLength(2)
  await readers[5]!.update(id!, (bag) => ({ ...bag, title: 'changed' }))
  expect(await readers[5]!.get(id!)).toMatchObject({ title: 'changed', user: 'u' })
})

test('two processes that store the same shape at the same time both write with it', async () => {
  const [one, two] = [await open(), await open()]
  await Promise.all([putUntilShaped(one), putUntilShaped(two)])
  for (const shard of [0, 1]) expect(rowsOf(shard).has(theShape().id)).toBe(true)
})

test('a shape that one shard has lost is found on another shard and put back', async () => {
  const [first] = await shapedOnBoth(await open())
  const lost = theShape()
  rowsOf(0).clear()
  const reader = await open(false)
  expect(withoutMeta(await reader.get(first!))).toMatchObject({ user: 'u' })
  await vi.waitFor(() => expect(rowsOf(0).has(lost.id)).toBe(true))
})

test('a shape that every shard has lost is put back by a process that writes with it', async () => {
  let passed = 0
  const store = await open(true, reference, { ...time, elapsed: () => performance.now() + passed })
  const [first] = await shapedOnBoth(store)
  const lost = theShape()
  for (const shard of [0, 1]) rowsOf(shard).clear()
  const id = await put(store, 1)
  expect(await formatOf(store, id)).toBe(SHAPED)
  passed = 60_000
  await put(store, 2)
  await vi.waitFor(() => {
    for (const shard of [0, 1]) expect(rowsOf(shard).has(lost.id)).toBe(true)
  })
  const reader = await open(false)
  for (const one of [first!, id]) expect(withoutMeta(await reader.get(one))).toMatchObject({ user: 'u' })
})

test('a check that is due during another one puts back the shape that a shard lost meanwhile', async () => {
  let now = Date.now()
  let reads = Infinity
  const watched = faultyDriver(reference, ({ shard, table, operation }) => {
    if (shard !== 0 || table !== 'codecEntries' || operation !== 'read' || --reads !== 0) return undefined
    return {
      async after() {
        rowsOf(0).delete(lost.id)
        now += 30_000
        await put(store, 500)
      },
    }
  })
  const store = await open(true, watched, { ...time, now: () => now })
  await putUntilShaped(store)
  const lost = theShape()
  // A check reads a shard before it adds, twice, and after it.
  reads = 3
  now += 30_000
  await put(store, 501)
  await vi.waitFor(() => expect(rowsOf(0).has(lost.id)).toBe(false))
  await vi.waitFor(async () => {
    await put(store, 502)
    expect(rowsOf(0).has(lost.id)).toBe(true)
  })
})

test('a shape that is lost while a process is open is loaded from the other shard', async () => {
  const reader = await open(false)
  const [first] = await shapedOnBoth(await open())
  const lost = theShape()
  rowsOf(0).clear()
  expect(withoutMeta(await reader.get(first!))).toMatchObject({ user: 'u' })
  await vi.waitFor(() => expect(rowsOf(0).has(lost.id)).toBe(true))
})

test('an entity with a lost shape is BODY_UNKNOWN, and entities without it are read', async () => {
  const writer = await open()
  const ids = await putUntilShaped(writer)
  const { id } = theShape()
  for (const shard of [0, 1]) rowsOf(shard).clear()
  const reader = await open(false)
  await expect(reader.get(ids.at(-1)!)).rejects.toMatchObject({
    code: 'BODY_UNKNOWN',
    message: expect.stringContaining(`the shape ${id}`) as string,
  })
  expect(await reader.get(ids[0]!)).toBeDefined()
  // Such bodies must not be deleted as damaged, because another process may have the shape.
  const damaged = []
  for await (const one of reader.scanDamaged()) damaged.push(one)
  expect(damaged.length).toBeGreaterThan(0)
  for (const one of damaged) expect(await reader.deleteDamaged(one)).toBe(false)
  // Puts the shape back, as from a backup.
  const known = writer.context.codec as unknown as { codecEntries: { known(): CodecEntry[] } }
  for (const shard of reference.shards) await shard.codecEntries.add(known.codecEntries.known())
  await vi.waitFor(async () => expect(await reader.get(ids.at(-1)!)).toBeDefined(), {
    timeout: 5_000,
    interval: 300,
  })
})

test('a busy shard fails the search for a shape with SHARD_BUSY, and the next search finds it', async () => {
  let isBusy = false
  const busy = faultyDriver(reference, ({ table, operation }) =>
    isBusy && table === 'codecEntries' && operation === 'read'
      ? { before: () => Promise.reject(new LooseleafError('SHARD_BUSY', 'There is no room.')) }
      : undefined,
  )
  const reader = await open(false, busy)
  const ids = await putUntilShaped(await open())
  isBusy = true
  await expect(reader.get(ids.at(-1)!)).rejects.toMatchObject({ code: 'SHARD_BUSY', retryable: true })
  isBusy = false
  expect(withoutMeta(await reader.get(ids.at(-1)!))).toMatchObject({ user: 'u' })
})

test('a loop over changes retries while a shard cannot be asked for an unknown shape', async () => {
  let isBusy = true
  const busy = faultyDriver(reference, ({ table, operation }) =>
    isBusy && table === 'codecEntries' && operation === 'read'
      ? { before: () => Promise.reject(new LooseleafError('SHARD_BUSY', 'There is no room.')) }
      : undefined,
  )
  const reader = await open(false, busy)
  const ids = await putUntilShaped(await open())
  const missing = new Set(ids)
  const retried: string[] = []
  const onRetry = ({ code }: LooseleafError): void => {
    retried.push(code)
    isBusy = false
  }
  for await (const { id } of reader.changes({ from: 'beginning', pollMs: 10, onRetry })) {
    missing.delete(id)
    if (missing.size === 0) break
  }
  expect(retried).toEqual(['SHARD_BUSY'])
})

test('open warns of a shape that every shard has lost only if bodies refer to it', async () => {
  const writer = await open()
  await putUntilShaped(writer)
  await open(false)
  expect(warnings).toEqual([])
  const { id: lost } = theShape()
  for (const shard of [0, 1]) rowsOf(shard).delete(lost)
  // The shape of the covering index is still there.
  expect(rowsOf(0).size).toBe(1)
  await open(false)
  expect(warnings).toEqual([
    expect.stringMatching(
      `^The shape ${lost}: no shard that answers has it; \\d+ of the \\d+ bodies that were looked at refer to it: they are BODY_UNKNOWN\\. To do: put its row`,
    ),
  ])
  warnings.length = 0
  const ids: string[] = []
  for await (const { id } of writer.scan()) ids.push(id)
  for (const id of ids) await writer.delete(id)
  await open(false)
  expect(warnings).toEqual([])
})

test('a store whose bodies all refer to a lost shape opens with a warning', async () => {
  const writer = await open()
  const ids = await putUntilShaped(writer)
  for await (const { id } of writer.scan())
    if ((await formatOf(writer, id)) !== SHAPED) await writer.delete(id)
  // The bodies written last are looked at, however many others there are.
  await writer.put(bagOf(1_000) as { n: number }, { id: ids.at(-1)! })
  // Waits until the writer has stored its shapes, so that it does not put them back.
  for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate)
  for (const shard of [0, 1]) rowsOf(shard).clear()
  const reader = await open(false)
  expect(warnings).toEqual([expect.stringContaining('no shard that answers has it')])
  // A look of an open store reports the loss too: shapes in its memory do not count.
  for (const { context } of [reader, writer]) {
    const { broken, undecodable } = await inspectBodies(context, { rows: 10 })
    expect({ broken, undecodable }).toMatchObject({
      broken: [{ kind: 'shape', isLost: true }],
      undecodable: 0,
    })
  }
})

test('no shape is reported as lost while a shard does not answer', async () => {
  let isSilent = false
  const silent = faultyDriver(reference, ({ shard, table }) =>
    isSilent && shard === 1 && table === 'codecEntries'
      ? { before: () => Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'It is away.')) }
      : undefined,
  )
  const store = await open(true, silent)
  const reader = await open(false, silent)
  await putUntilShaped(store)
  rowsOf(0).clear()
  isSilent = true
  for (const { context } of [store, reader]) {
    const { isWhole, broken, undecodable } = await inspectBodies(context, { rows: 10 })
    expect({ isWhole, broken, undecodable }).toEqual({ isWhole: false, broken: [], undecodable: 0 })
  }
})

test('a row of a shape whose content does not match its id is not used, with a warning', async () => {
  const [first] = await shapedOnBoth(await open())
  const { id, ...row } = theShape()
  const forged = Buffer.from(JSON.stringify(['a', 'b', 'c', 'd']))
  reference.shards[0]!.codecEntries.rows.set(id, { ...row, id, bytes: forged, added: 1 })
  const reader = await open()
  // The other shard has the right content.
  expect(withoutMeta(await reader.get(first!))).toMatchObject({ user: 'u' })
  expect(warnings).toEqual([expect.stringContaining(`the row "${id}" of looseleaf_codec is not used`)])
  // While a shard has another content, no body refers to the shape.
  for (let n = 0; n < 80; n++) await put(reader, n)
  expect(await formatOf(reader, await put(reader, 1))).toBe(1)
})

test('writes are self-contained while a shard cannot store a shape', async () => {
  let fails = true
  const faulty = faultyDriver(reference, ({ table }) =>
    table === 'codecEntries' && fails
      ? { before: () => Promise.reject(new Error('The table is locked.')) }
      : undefined,
  )
  const store = await open(true, faulty)
  const ids = []
  for (let n = 0; n < 80; n++) ids.push(await put(store, n))
  for (const id of ids) expect(await formatOf(store, id)).toBe(1)
  fails = false
  expect((await store.get(ids[0]!))?.id).toBe(ids[0])
})

test('a body that refers to a damaged id is BODY_DAMAGED, and no shard is asked', async () => {
  const store = await open()
  const [first] = await shapedOnBoth(store)
  const id = parseId(first!)
  const [row] = await reference.shards[0]!.entities.read([id])
  const body = Uint8Array.from(row!.body!)
  body[12]! ^= 1
  const epoch = store.context.catalog.current().epochs[0]!
  const version = row!.version + 1
  await reference.shards[0]!.entities.replace([{ id, base: row!.version, version, body }], { epoch })
  const read = vi.spyOn(reference.shards[0]!.codecEntries, 'read')
  await expect(store.get(first!)).rejects.toMatchObject({ code: 'BODY_DAMAGED', entity: formatId(id) })
  expect(read).not.toHaveBeenCalled()
})

test('a codec given to several stores keeps the shapes of each apart', async () => {
  const codec = envelopeCodec({ shapes: true })
  expect(codec.forStore?.()).not.toBe(codec.forStore?.())
  const [first] = await shapedOnBoth(await open())
  const [row] = await reference.shards[0]!.entities.read([parseId(first!)])
  for (const other of [codec, msgpackZlibCodec(), codec.forStore!()]) {
    expect(() => other.decode(row!.body!)).toThrow(/refers to the shape/)
  }
})
