import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { LooseleafError, parseId, type Shard } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { DataStore, defineIndex, type Bag, type IndexDefinition } from '@looseleaf/store'
import { expect, onTestFinished, test } from 'vitest'
import { createConsole, type ConsoleOptions } from '../console.ts'

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })
const byKind = defineIndex('note_by_text', {
  properties: { text: 'string' },
  shardOn: 'id',
  on: { _kind: 'note' },
})
const SECRET = Buffer.from('a word that nobody may ever see: 4711')

interface Opened {
  readonly store: DataStore
  /** Warnings of the store and of its console. */
  readonly warnings: readonly string[]
  get(path: string): Promise<{ readonly status: number; readonly text: string }>
}

async function open(
  options: Partial<ConsoleOptions> = {},
  indexes: readonly IndexDefinition[] = [byName, byKind],
): Promise<Opened> {
  const warnings: string[] = []
  const store = await DataStore.open({
    shards: memoryShards(2),
    indexes,
    migrate: true,
    onWarning: (warning) => warnings.push(warning),
  })
  const window = createConsole({ store, base: '/store', ...options })
  const server = createServer((request, response) => void window.handle(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.close()
    await store.close()
  })
  return {
    store,
    warnings,
    async get(path) {
      const answer = await fetch(`http://127.0.0.1:${(server.address() as { port: number }).port}${path}`)
      return { status: answer.status, text: await answer.text() }
    },
  }
}

const everything = { mayShow: () => true }

/** Returns the bytes of the hex dump on a page of an entity. */
function bytesOn(page: string): Buffer {
  const [, dump = ''] = /<pre[^>]*>([^<]*)<\/pre>/.exec(page) ?? []
  return Buffer.from(
    dump
      .split('\n')
      .map((line) => line.slice(6, 53))
      .join('')
      .replaceAll(' ', ''),
    'hex',
  )
}

/** Returns the links of a page to addresses under /store. */
function linksOn(page: string): string[] {
  return [...page.matchAll(/href="(\/store[^"]*)"/g)].map(([, href]) => href!.replaceAll('&#38;', '&'))
}

test('the latest writes are listed by id, with a note about a shard that does not answer', async () => {
  const { store, get } = await open(everything)
  expect((await get('/store/entity')).text).toContain('There were no writes yet.')
  const ids: string[] = []
  for (let n = 0; n < 23; n++) {
    ids.unshift((await store.put({ name: `nobody ${n}` })).id)
    // Gives each write a different time.
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  await store.delete(ids[2]!)
  const listed = (text: string): string[] =>
    [...text.matchAll(/store\/entity\/([^"]+)"/g)].map(([, id]) => id!)
  const { text } = await get('/store/entity')
  const expected = [ids[2], ids[0], ids[1], ...ids.slice(3, 20)]
  expect(listed(text)).toEqual(expected)
  expect(text.match(/<td>deleted<\/td>/g)).toHaveLength(1)
  expect(text).not.toContain('nobody')

  const [silent] = store.context.driver.shards
  silent!.entities.pageByUpdated = () => Promise.reject(new Error('it sleeps'))
  const rest = (await get('/store/entity')).text
  expect(rest).toContain(`The writes on ${silent!.name} are unknown: it sleeps`)
  const answering = expected.filter((id) => store.context.router.shardOfId(parseId(id!)) !== 0)
  expect(listed(rest).slice(0, answering.length)).toEqual(answering)
})

test('the list of the latest writes has the kinds of entities whose values may be shown', async () => {
  const isNote = (bag: Bag): boolean => bag['_kind'] === 'note'
  const kindsOn = (text: string): (string | undefined)[] =>
    [...text.matchAll(/store\/entity\/[^>]*>[^<]*<\/a><\/span><\/th><td>(?:<span[^>]*>)?([^<]*)</g)].map(
      ([, kind]) => kind,
    )
  const { store, get } = await open({ mayShow: isNote })
  const put = async (bag: Bag): Promise<string> => {
    // Gives each write a different time.
    await new Promise((resolve) => setTimeout(resolve, 2))
    return (await store.put(bag)).id
  }
  await put({ _kind: SECRET.toString() })
  await put({ _kind: 'note', text: 'short' })
  await put({ _kind: 'note', text: randomBytes(20_000).toString('base64') })
  await store.delete(await put({ _kind: 'note', text: 'gone' }))
  const { text } = await get('/store/entity')
  expect(kindsOn(text)).toEqual(['', 'not read', 'note', 'not shown'])
  expect(text).not.toContain(SECRET.toString())
  const hidden = await open()
  await hidden.store.put({ _kind: 'note', text: 'short' })
  expect((await hidden.get('/store/entity')).text).not.toMatch(/>kind<|>note</)
})

test('the page of an entity links to the page of the application, unless its values are hidden or it has none', async () => {
  const { store, get } = await open({
    mayShow: (bag) => bag['_kind'] !== 'secret',
    pageOf: ({ _kind }, id) =>
      _kind === 'none' ? undefined : { href: `/notes/${id}?a&b`, label: 'Open <it>' },
  })
  const linksOf = async (kind: string): Promise<string[]> => {
    const { id } = await store.put({ _kind: kind })
    const { text } = await get(`/store/entity/${id}`)
    return [...text.matchAll(/<a href="\/notes\/[^<]*<\/a>/g)].map(([link]) => link.replace(id, 'id'))
  }
  expect(await linksOf('note')).toEqual(['<a href="/notes/id?a&#38;b">Open &#60;it&#62;</a>'])
  expect(await linksOf('none')).toEqual([])
  expect(await linksOf('secret')).toEqual([])
})

test('the page of an entity shows its bag, the bytes that decode to it, and its index rows', async () => {
  const { store, get } = await open(everything)
  const bag = {
    _kind: 'note',
    name: 'Ada',
    text: 'hello',
    list: [1, { a: null }],
    at: new Date(0),
    big: 2n ** 60n,
  }
  const { id, version } = await store.put(bag)
  const { status, text } = await get(`/store/entity/${id}`)
  expect(status).toBe(200)
  for (const word of [
    'hello',
    '[1, { a: null }]',
    '1970-01-01T00:00:00.000Z',
    String(2n ** 60n),
    `${version}`,
  ])
    expect(text).toContain(word)
  expect(store.context.codec.decode(bytesOn(text))).toEqual(bag)
  expect(text.match(/✓ present/g)).toHaveLength(2)
  expect(text).not.toContain('✗')
  expect((await get(`/store/entity?id=${id}`)).text).toContain('hello')
})

test('the page of an entity marks a deleted index row as absent', async () => {
  const { store, get } = await open(everything)
  const { id } = await store.put({ name: 'Ada' })
  const entry = store.context.catalog.current().indexes.find(({ name }) => name === 'by_name')!
  const key = [Buffer.from('Ada')]
  const shard = store.context.driver.shards[store.context.router.shardOfKey(key[0]!)]!
  const columns = [{ name: 'name', type: 'string' }] as const
  await shard.index({ table: entry.table, columns }).remove([{ key, entityId: parseId(id), before: 2 ** 53 }])
  const { text } = await get(`/store/entity/${id}`)
  expect(text).toContain('✗ absent')
  expect(text).not.toContain('✓ present')
})

test('pages of a bad id, an unknown id, a deleted entity, and a missing index, shard or place answer with the right status', async () => {
  const { store, get } = await open(everything)
  expect((await get('/store/entity')).text).toContain('<form')
  const bad = await get('/store/entity/%3Cb%3E4711')
  expect(bad.status).toBe(400)
  expect(bad.text).toContain('has to be a UUID')
  expect(bad.text).not.toContain('<b>')
  expect((await get(`/store/entity/${store.newId()}`)).status).toBe(404)
  const { id } = await store.put({ name: 'Ada' })
  await store.delete(id)
  expect((await get(`/store/entity/${id}`)).text).toContain('It is deleted.')
  for (const path of [
    'nothing',
    'by_name?shard=2',
    'by_name?shard=-1',
    'by_name?shard=x',
    'by_name?after=x',
    'by_name?table=x',
  ])
    expect((await get(`/store/index/${path}`)).status).toBe(404)
})

test('the rows of an index are shown page after page', async () => {
  const { store, get } = await open(everything)
  const bags = Array.from({ length: 60 }, (_, i) => ({ _kind: 'note', text: `note ${i}` }))
  await store.putMany(bags)
  const seen: string[] = []
  for (const shard of [0, 1]) {
    let next: string | undefined = `/store/index/note_by_text?shard=${shard}`
    while (next !== undefined) {
      const { text } = await get(next)
      seen.push(...[...text.matchAll(/text: (note \d+)/g)].map(([, value]) => value!))
      next = linksOn(text).find((href) => href.includes('after='))
    }
  }
  expect(seen.toSorted()).toEqual(bags.map(({ text }) => text).toSorted())
})

test('no value of an entity is shown unless mayShow returns true', async () => {
  const isNote = (bag: Bag): boolean => bag['_kind'] === 'note'
  const lenient = (() => 'yes') as unknown as () => boolean
  for (const [mayShow, isAllowed] of [
    [undefined, false],
    [isNote, true],
    [lenient, false],
  ] as const) {
    const { store, get } = await open({ mayShow })
    const secret = await store.put({
      name: SECRET.toString(),
      bytes: SECRET,
      nested: { deep: [SECRET.toString()] },
    })
    const moved = await store.put({ _kind: 'note', text: SECRET.toString() })
    await store.put({ _kind: 'note', text: 'harmless' }, { id: moved.id })
    const gone = await store.put({ name: `${SECRET.toString()} gone` })
    await store.delete(gone.id)
    for (let i = 0; i < 100; i++) await store.put({ name: `${SECRET.toString()} ${i}` })
    const startPages = [
      '/store',
      '/store/shards',
      '/store/index',
      '/store/index?name=by',
      ...[secret, moved, gone].map(({ id }) => `/store/entity/${id}`),
      ...[0, 1].flatMap((shard) => [
        `/store/index/by_name?shard=${shard}`,
        `/store/index/note_by_text?shard=${shard}`,
      ]),
    ]
    let pages = 0
    const paths = new Set(startPages)
    for (const path of paths) {
      const { text } = await get(path)
      pages++
      expect(text).not.toContain(SECRET.toString())
      expect(text).not.toContain(SECRET.toString('hex').slice(0, 16))
      expect(bytesOn(text).includes(SECRET.subarray(0, 12))).toBe(false)
      expect(text).not.toContain(SECRET.toString('base64').slice(0, 20))
      expect(text).not.toContain(SECRET.toString('base64url').slice(0, 20))
      for (const href of linksOn(text)) if (href.includes('after=')) paths.add(href)
      if (path.endsWith(moved.id)) expect(text.includes('harmless')).toBe(isAllowed)
      if (path.endsWith(secret.id)) expect(text).toMatch(/nested[^]*object[^]*The bytes are not shown/)
    }
    expect(pages).toBeGreaterThan(startPages.length)
  }
})

test('an error of mayShow is hidden from the page, and reported to the application once', async () => {
  const mayShow = (bag: Bag): boolean => {
    throw new Error(`Never seen: ${String(bag['name'])}`)
  }
  const { store, warnings, get } = await open({ mayShow })
  const { id } = await store.put({ name: SECRET.toString() })
  await get(`/store/entity/${id}`)
  const { status, text } = await get(`/store/entity/${id}`)
  expect(status).toBe(503)
  expect(warnings.filter((warning) => warning.includes('Never seen'))).toEqual([
    expect.stringMatching(/^mayShow of a console failed: /),
  ])
  expect(text).toContain('mayShow')
  expect(text).not.toContain(SECRET.toString())
})

test('every page escapes stored values and definitions', async () => {
  const evil = `"><script>alert(1)</script><img src=x onerror='x'>`
  const { store, get } = await open(everything)
  const { id } = await store.put({ _kind: 'note', [evil]: evil, name: evil, text: evil })
  for (const entry of store.context.catalog.current().indexes)
    Object.assign(entry, {
      shardOn: evil,
      on: { [evil]: evil },
      properties: [{ ...entry.properties[0], name: evil }],
    })
  const pages = [
    `entity/${id}`,
    'index',
    'index/by_name?shard=0',
    'index/by_name?shard=1',
    `index/${encodeURIComponent(evil)}`,
  ]
  for (const path of [
    ...pages,
    `index?name=${encodeURIComponent(evil)}`,
    `entity?id=${encodeURIComponent(evil)}`,
  ]) {
    const { text } = await get(`/store/${path}`)
    expect(text).not.toMatch(/<script|<img/)
  }
  expect((await get(`/store/entity/${id}`)).text).toContain('&#60;script&#62;')
})

test('pages of a store with 300 indexes and large bags stay small, and note what is hidden', async () => {
  const many = Array.from({ length: 300 }, (_, i) =>
    defineIndex(`by_p${String(i).padStart(3, '0')}`, {
      properties: { [`p${i}`]: 'integer' },
      shardOn: 'id',
    }),
  )
  const { store, get } = await open(everything, many)
  const bag: Record<string, unknown> = {
    text: 'x'.repeat(200_000),
    list: Array.from({ length: 30_000 }, (_, i) => i),
  }
  for (let i = 0; i < 300; i++) bag[`p${i}`] = i
  const { id } = await store.put(bag as Bag)
  await store.putMany(Array.from({ length: 2000 }, (_, i) => ({ p0: i })))
  // Each index that was queried has a lane.
  for (const index of many.slice(0, 100)) await store.query(index, {}, { scatter: true, limit: 1 })
  for (const [path, word] of [
    ['/shards', 'more lane'],
    ['/index', '200 more index tables not shown.'],
    ['/index/by_p000?shard=0', 'Next rows'],
    [`/entity/${id}`, '100 more rows not shown.'],
  ]) {
    const { status, text } = await get(`/store${path}`)
    expect(status).toBe(200)
    expect(text).toContain(word)
    expect(text.length).toBeLessThan(80_000)
  }
  expect((await get('/store/index?name=by_p29')).text.match(/>by_p29\d</g)!.length).toBe(10)
})

test('the map of the buckets has each of them once, on its shard', async () => {
  const { store, get } = await open()
  const { text } = await get('/store/shards')
  expect(text).toContain('Buckets of memory 1: 2,048 to 4,095')
  expect(text).toContain('M2048 0h2048v1h-2048z')
  expect(text).toMatch(/0 to 2,047<\/th><td>2,048<\/td><td>memory 0/)
  expect(text).toMatch(/2,048 to 4,095<\/th><td>2,048<\/td><td>memory 1/)
  expect(store.context.router.buckets!.shards).toHaveLength(4096)
  expect(text).toContain('No cleaner has saved a report yet.')
})

test('the page of shards shows replicas, and the reason why one is not read', async () => {
  const { store, get } = await open()
  const stats = store.stats.bind(store)
  const lane = { table: 'entities', kind: 'read', statements: 7, items: 21, waiting: 0 }
  const replica = { connections: undefined, lanes: [lane] }
  const replicas = [
    { ...replica, name: 'copy <1>', ageMs: 312.4, exclusionReason: undefined },
    {
      ...replica,
      name: 'copy 2',
      ageMs: undefined,
      exclusionReason: 'It does not answer in time.',
      lanes: [],
    },
  ]
  store.stats = () => {
    const all = stats()
    return { ...all, shards: all.shards.map((shard) => ({ ...shard, replicas })) }
  }
  const { text } = await get('/store/shards')
  expect(text).toContain('copy &#60;1&#62;, a replica')
  expect(text).toContain('all writes acknowledged 312 ms ago')
  expect(text).toMatch(/entities read<\/th><td>7<\/td><td>21<\/td><td>3\.0/)
  expect(text).toContain('This process does not read from it: It does not answer in time.')
  expect(text).toContain('Its lag behind its primary is unknown.')
})

test('the page of shards shows the lag or the error of a replica from which the process does not read', async () => {
  const { store, get } = await open()
  const [shard] = store.context.driver.shards as [Shard, ...Shard[]]
  const { floor } = await shard.entities.floor()
  const replica = { ...shard, name: 'copy 1' }
  const gone: Shard = {
    ...replica,
    name: 'copy 2',
    catalog: { ...shard.catalog, load: () => Promise.reject(new Error('It is gone.')) },
  }
  Object.assign(shard, { replicas: [replica, gone] })
  const stats = store.stats.bind(store)
  store.stats = () => {
    const all = stats()
    const replicas = ['copy 1', 'copy 2'].map((name) => ({
      name,
      ageMs: undefined,
      exclusionReason: undefined,
      connections: undefined,
      lanes: [],
    }))
    return { ...all, shards: all.shards.map((each, number) => (number === 0 ? { ...each, replicas } : each)) }
  }
  replica.entities = {
    ...shard.entities,
    floor: async () => ({ floor: floor - 2_500_000, now: 0, epoch: 1, purged: { updated: 0, version: 0 } }),
  }
  const { text } = await get('/store/shards')
  expect(text).toContain('It is 2,500 ms behind its primary')
  expect(text).toContain('It cannot be read: It is gone.')
})

test('the page of an entity shows everything except the rows on a shard that does not answer', async () => {
  const { store, get } = await open()
  const { driver, router } = store.context
  const id = store.newId()
  const own = router.shardOfId(parseId(id))
  const name = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].find((one) => router.shardOfKey(Buffer.from(one)) !== own)!
  await store.put({ _kind: 'note', name, text: 'x' }, { id })
  const other = driver.shards[1 - own]!
  other.rowsOf = () => Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'It is <gone>.'))
  const { status, text } = await get(`/store/entity/${id}`)
  expect(status).toBe(200)
  expect(text).toContain('It should have 2 rows: 1 present, 0 absent, 1 unknown.')
  expect(text).toContain(`The rows on ${other.name} are unknown.`)
  expect(text).toContain('unknown: It is &#60;gone&#62;.')
  expect(text.match(/✓ present/g)).toHaveLength(1)
})

test('a shard that does not answer removes only its own part of a page', async () => {
  const { store, get } = await open()
  const shard = store.context.driver.shards[1]!
  shard.sizes = async () => {
    throw new Error('It is <gone>.')
  }
  const { status, text } = await get('/store/shards')
  expect(status).toBe(200)
  expect(text).toContain(`<p>The contents of ${shard.name} are unknown: It is &#60;gone&#62;.</p>`)
  expect(text).toContain('4,096 buckets')
})
