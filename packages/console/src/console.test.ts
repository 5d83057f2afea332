import { createServer } from 'node:http'
import { LooseleafError } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { DataStore, defineIndex, type Trace } from '@looseleaf/store'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { serveConsole } from '../test/serve-console.ts'
import { stoppable } from '../test/stoppable.ts'
import { createConsole, type Console, type ConsoleOptions } from './console.ts'
import { purposeOf } from './indexes/purposes.ts'
import { counted } from './kit/text.ts'
import { movesSection } from './shards/moves-section.ts'

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })

let store: DataStore
let window: Console
let origin: string

beforeEach(async () => {
  store = await DataStore.open({
    shards: memoryShards(2),
    indexes: [byName],
    migrate: true,
    onWarning: () => {},
  })
  window = createConsole({ store, base: '/store', home: { href: '/', label: 'Home' }, maxTraces: 2 })
  const server = createServer((request, response) => {
    if (!window.handle(request, response)) response.writeHead(418).end('the application')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  onTestFinished(async () => {
    server.close()
    await store.close()
  })
})

const ask = (path: string, init?: RequestInit): Promise<Response> => fetch(`${origin}${path}`, init)
const bodyOf = async (path: string): Promise<string> => (await ask(path)).text()

async function traced(): Promise<Trace> {
  const ids = await Promise.all(['ada', 'bo', 'cy'].map(async (name) => (await store.put({ name })).id))
  return store.trace(async (trace) => {
    await Promise.all(ids.map((id) => store.get(id)))
    await store.query(byName, { name: 'ada' })
    await store.update(store.newId(), (bag) => bag).catch(() => {})
    const bug = (): never => {
      throw new Error('a bug')
    }
    await store.update(ids[0]!, bug).catch(() => {})
    return trace
  })
}

const sumOf = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0)

test('an X-ray has every statement of its trace, by shard, and no value', async () => {
  const trace = await traced()
  const page = await bodyOf(window.keep(trace, 'GET /people/mira'))
  expect(page).toContain('X-ray: GET /people/mira')
  // Columns of numbers are aligned to the right.
  expect(page).toMatch(/<table class="n1 n2 n5[ "]/)
  const shards = new Set(trace.statements.map(({ shard }) => shard)).size
  expect(page).toContain(
    `6 calls became ${trace.statements.length} statements to ${counted(shards, 'shard')}`,
  )
  expect(page.match(/<rect /g)).toHaveLength(trace.statements.length)
  expect(page.match(/<summary/g)).toHaveLength(trace.statements.length)
  expect(page).toMatch(/query by_name/)
  // NOT_FOUND is an answer: it is beside its call, and not in the summary of failures.
  expect(page).toMatch(/NOT_FOUND/)
  expect(page).toMatch(/<p class="lead"><span class="no">Failed:<\/span> update, with UNKNOWN\. 6 calls/)
  expect(await bodyOf('/store/xray')).toContain('>failed: UNKNOWN<')
  expect(page).not.toMatch(/\bada\b/)
})

test('equal calls that share statements are one row of an X-ray, with the numbers of the statements', async () => {
  const page = await store.trace(async (trace) => {
    await Promise.all([1, 2, 3].map(() => store.query(byName, { name: 'ada' })))
    return bodyOf(window.keep(trace, 'shared'))
  })
  const [, calls = ''] = page.split('<h2>Calls</h2>')
  const row = calls.split('<tr>').find((line) => line.includes('query by_name ×3'))
  const [, number = ''] = /<td>#(\d+)/.exec(row!)!
  const statements = page.split('<h2>Calls</h2>')[0]!.split('<tr>')
  expect(statements.find((line) => line.includes(`<th scope="row">${number}</th>`))).toContain(
    'query by_name ×3',
  )
})

test('an X-ray escapes titles, shards and statements', async () => {
  const trace = await traced()
  const page = await bodyOf(window.keep(trace, '<script>alert("1")</script>'))
  expect(page).not.toContain('<script')
  expect(page).toContain('&#60;script&#62;')
  const statement = { ...trace.statements[0]!, shard: '"><img src=x>', text: '</code><b>' }
  const other = await bodyOf(window.keep({ ...trace, statements: [statement] }, 'odd'))
  expect(other).not.toMatch(/<img|<b>/)
})

test('the first sentence of an X-ray begins with a capital, also for one call', async () => {
  const trace = await traced()
  const [call] = trace.calls
  const [statement] = trace.statements
  const small = { ...trace, calls: [{ ...call!, failure: undefined }], statements: [statement!], events: [] }
  const page = await bodyOf(window.keep(small, 'one'))
  expect(page).toContain('<p class="lead">One call became one statement to one shard in ')
  expect(page).toContain(' No index row was discarded.')
})

test('an X-ray of a large trace is shortened, and says so', async () => {
  const trace = await traced()
  const [statement] = trace.statements
  const [call] = trace.calls
  const many = Array.from({ length: 1_000 }, (_, n) => ({
    ...statement!,
    text: `SELECT ${'?, '.repeat(300)} FROM t${n % 40}`,
  }))
  const calls = Array.from({ length: 1_000 }, (_, n) => ({ ...call!, index: `by_${n}` }))
  const page = await bodyOf(window.keep({ ...trace, statements: many, calls }, 'x'.repeat(5_000)))
  expect(page.length).toBeLessThan(70_000)
  expect(page).toContain('900 more statements not shown. 960 more rows of calls not shown.')
  expect(page.match(/<summary/g)).toHaveLength(100)
  expect(page).not.toContain('x'.repeat(201))
  expect(page).toContain('The same text as #1.')
  expect(page).toContain('Not shown: there are too many texts.')
})

test('an X-ray links to its page and to the other X-rays, and never to another server', async () => {
  const trace = await traced()
  const page = await bodyOf(window.keep(trace, 'GET /people', '/people'))
  expect(page).toContain('<a href="/people">Back to the page /people</a>')
  expect(page).toContain('<a href="/store/xray">All X-rays</a>')
  for (const path of ['//example.org/', '/\\\\example.org/', 'https://example.org/', 'javascript:alert(1)'])
    expect(await bodyOf(window.keep(trace, 'odd', path))).not.toContain('Back to the page')
})

test('a console keeps the last traces and lists the newest first', async () => {
  const trace = await traced()
  const [first, second, third] = ['one', 'two', 'three'].map((title) => window.keep(trace, title))
  expect((await ask(first!)).status).toBe(404)
  expect((await ask(second!)).status).toBe(200)
  const list = await bodyOf('/store/xray')
  expect(list.indexOf('three')).toBeLessThan(list.indexOf('two'))
  expect(list).toContain(third!)
})

test('the list of X-rays has a row for each page, with its last X-ray and the earlier ones', async () => {
  const trace = await traced()
  const [first, second] = ['GET /people', 'GET /people'].map((title) => window.keep(trace, title))
  const list = await bodyOf('/store/xray')
  expect(list.split('>GET /people<')).toHaveLength(2)
  expect(list).toContain(`<a href="${second}">GET /people</a>`)
  expect(list).toMatch(
    new RegExp(
      `<summary>1<span class="unseen"> earlier</span></summary><a href="${first}">[-: 0-9]+ UTC</a>`,
    ),
  )
})

test('the list of X-rays has the duration and the discarded rows of each, and every X-ray orders its shards by name', async () => {
  const trace = await traced()
  const [statement] = trace.statements
  const on = (shard: string, sentAt: number) => ({ ...statement!, shard, sentAt, durationMs: 2 })
  const statements = [on('shard 10', 100), on('shard 2', 110), on('shard 10', 130)]
  const events = [3, 4].map((rows) => ({ kind: 'discarded' as const, index: 'by_name', rows }))
  const address = window.keep({ ...trace, startedAt: 100, statements, events: events as never }, 'made')
  expect(await bodyOf('/store/xray')).toMatch(
    />made<[\s\S]*<td>32\.0 ms<\/td><td>6<\/td><td>3<\/td><td>7<\/td>/,
  )
  const [drawn = ''] = /<svg[\s\S]*<\/svg>/.exec(await bodyOf(address)) ?? []
  expect(drawn).toContain('3 statements in 32.0 ms')
  const short = window.keep({ ...trace, startedAt: 100, statements: [on('shard 2', 110)] }, 'short')
  expect(await bodyOf(short)).toContain('One statement in 12.0 ms; the table below lists it')
  expect(drawn.indexOf('>shard 2<')).toBeGreaterThan(-1)
  expect(drawn.indexOf('>shard 2<')).toBeLessThan(drawn.indexOf('>shard 10<'))
})

test('the page of shards lists the statements to each shard', async () => {
  expect(await bodyOf('/store/shards')).toContain('It has received no statement.')
  await traced()
  const page = await bodyOf('/store/shards')
  expect(page).not.toContain('pending rows')
  expect(page).toContain('memory 0')
  expect(page).toContain('memory 1')
  expect(page).toContain('entities insert')
  expect(page).toContain('index_by_name scan')
})

test('the page of shards shows a move with its counts, the reason why it waits, and the commands forward and back', async () => {
  expect(await bodyOf('/store/shards')).not.toContain('Moves of buckets')
  await traced()
  const stop = new AbortController()
  const options = { signal: stop.signal, onProgress: () => stop.abort() }
  const planned = { from: 0, to: 1, buckets: '0-2000' }
  await expect(store.shards.move(planned, options)).rejects.toMatchObject({ code: 'ABORTED' })
  const [move] = await store.shards.moves()
  const page = await bodyOf('/store/shards')
  for (const text of [
    `Move ${move!.id}: copying`,
    '2,001 buckets from memory 0 to memory 1. Handed over so far: 0.',
    '<dt>held up by</dt><dd>no process works on it',
    '<dt>go on</dt><dd><code>looseleaf shard repair</code>',
    `<dt>go back</dt><dd><code>looseleaf shard undo ${move!.id}</code>`,
  ])
    expect(page).toContain(text)
  const over = movesSection(
    [{ ...move!, state: 'done', endedAt: new Date(), waits: { calls: 3, longestMs: 40 } }],
    [],
  )
  expect(over.text).toContain('<td>3, the longest for 40.0 ms</td>')
  // Long texts wrap, so that the table fits a screen.
  expect(over.text).toContain('<span class="long">no group of buckets was sealed</span>')
  const late = movesSection(
    [{ ...move!, commands: { ...move!.commands, back: 'looseleaf shard move', isBackLater: true } }],
    [],
  )
  expect(late.text).toContain('go back, once it is over</dt><dd><code>looseleaf shard move<')
})

test('the page of shards lists the failing calls of all processes', async () => {
  expect(await bodyOf('/store/shards')).not.toContain('Failing calls')
  const { tasks } = store.context.driver.shards[1]!
  const failure = {
    code: 'SHARD_FULL',
    shard: 'memory 0',
    count: 73,
    lastAt: Date.now(),
    message: 'It is full.',
  }
  const note = {
    key: 'a',
    process: 'host:7',
    at: Date.now(),
    periodMs: 60_000,
    calls: 100,
    failures: [failure],
  }
  await tasks.claim('failing calls', 'me', 1_000)
  await tasks.save('failing calls', 'me', JSON.stringify([note]), 0)
  const page = await bodyOf('/store/shards')
  for (const text of [
    'Failing calls',
    'host:7',
    'SHARD_FULL',
    '73 of 100 in 60 s',
    '<span class="long message">It is full.<',
  ])
    expect(page).toContain(text)
})

test('the first page has a picture with the statements to each shard', async () => {
  await traced()
  const page = await bodyOf('/store')
  for (const { lanes } of store.stats().shards) {
    const entityLanes = lanes.filter(({ table }) => table === 'entities')
    const items = sumOf(entityLanes.map((lane) => lane.items))
    const statements = sumOf(entityLanes.map((lane) => lane.statements))
    expect(page).toContain(
      `${counted(items, 'entity', 'entities')} in ${counted(statements, 'statement')}</text>`,
    )
  }
})

test('the first page suggests only pages that the console has', async () => {
  const triesOf = async (options: Partial<ConsoleOptions>): Promise<string[]> => {
    const { text } = await serveConsole(createConsole({ store, base: '/store', ...options }))
    const [, list = ''] = /Try first<\/h2><ol[^>]*>([\s\S]*?)<\/ol>/.exec(await text('/store')) ?? []
    return [...list.matchAll(/href="([^"]+)"/g)].map(([, href]) => href!)
  }
  const home = { href: '/home', label: 'Home' }
  const acts = { onAct: () => {} }
  const page = stoppable('memory 0')
  expect(await triesOf({})).toEqual(['/store/entity'])
  expect(await triesOf({ offer: [], pages: [page] })).toEqual(['/store/entity'])
  expect(await triesOf({ home, offer: [], pages: [page], acts })).toEqual([
    '/home',
    '/store/xray',
    '/store/offered',
    '/store/stops',
    '/store/entity',
  ])
})

test('a console without traces has no X-rays and no links to them', async () => {
  const home = { href: '/home', label: 'Home' }
  const bare = createConsole({ store, base: '/store', home, maxTraces: 0 })
  const served = await serveConsole(bare)
  expect(await served.text('/store')).not.toContain('X-ray')
  const kept = bare.keep(await traced(), 'GET /')
  for (const path of ['/store/xray', kept]) expect((await fetch(`${served.origin}${path}`)).status).toBe(404)
  expect(await bodyOf('/store/xray')).toContain('This process has none yet.')
})

test('pages about an index show its description by the application', async () => {
  const page = { href: '/people?by=<name>', label: 'the <people>' }
  const options = {
    purposes: { by_name: { text: 'For <people>.', page } },
    offer: [byName],
  }
  const { text } = await serveConsole(createConsole({ store, base: '/store', ...options }))
  for (const path of ['/store/offered', '/store/index/by_name'])
    expect(await text(path)).toContain(
      'For &#60;people&#62;. See <a href="/people?by=&#60;name&#62;">the &#60;people&#62;</a>.',
    )
  expect(() =>
    createConsole({ store, base: '/store', purposes: { by_name: 'For people.' as never } }),
  ).toThrow('The option purposes of createConsole has to be an object')
})

test('purposeOf returns undefined for an index without a description, and a description needs no page', () => {
  expect(purposeOf({ by_name: { text: 'For people.' } }, 'by_name')?.text).toBe('<p>For people.</p>')
  expect(purposeOf({}, 'constructor')).toBeUndefined()
})

test('the headers of a page forbid scripts, foreign resources and caching', async () => {
  const { headers } = await ask('/store')
  expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'sha256-/)
  expect(headers.get('content-security-policy')).toContain("form-action 'self'")
  expect(headers.get('cache-control')).toBe('no-store')
})

test('handle leaves other addresses to the application, refuses other methods, and answers unknown pages with 404', async () => {
  expect((await ask('/')).status).toBe(418)
  expect((await ask('/stores')).status).toBe(418)
  expect((await ask('/store', { method: 'POST' })).status).toBe(405)
  expect(await (await ask('/store', { method: 'HEAD' })).text()).toBe('')
  for (const path of ['/store/', '/store/shards', '/store/xray?x=1', '/store/xray/'])
    expect((await ask(path)).status).toBe(200)
  for (const path of ['/store/nothing', '/store/xray/nothing', '/store/xray/%', '/store/shard'])
    expect((await ask(path)).status).toBe(404)
})

test('a page that throws shows the message of the error and no stack', async () => {
  const failing = createConsole({
    base: '/store',
    store: Object.create(store, {
      stats: {
        value() {
          throw new LooseleafError('SHARD_UNAVAILABLE', 'Shard <b> does not answer.')
        },
      },
    }) as DataStore,
  })
  const server = createServer((request, response) => void failing.handle(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const answer = await fetch(`http://127.0.0.1:${(server.address() as { port: number }).port}/store`)
  expect(answer.status).toBe(503)
  const page = await answer.text()
  expect(page).toContain('Shard &#60;b&#62; does not answer.')
  expect(page).not.toContain('.ts:')
})

test('createConsole refuses bad options, and a page refuses a mayShow that returns a promise', async () => {
  for (const options of [
    { maxTraces: -1 },
    { maxTraces: Number.NaN },
    { mayShow: 'yes' as never },
    { pageOf: '/notes' as never },
  ])
    expect(() => createConsole({ store, base: '/store', ...options })).toThrow(
      /^The option (maxTraces|mayShow|pageOf) of createConsole has to be/,
    )
  expect(() => createConsole({ store, base: '/store', mayshow: () => true } as never)).toThrow(
    /^createConsole has no option "mayshow"; there are store, base, home, mayShow, pageOf,/,
  )
  expect(() => createConsole(undefined as never)).toThrow(/options as an object; got nothing/)
  expect(() => createConsole({ base: '/store' } as never)).toThrow(
    /takes \{ store \}, a DataStore; got nothing/,
  )
  const { id } = await store.put({ name: 'ada' })
  const late = createConsole({ store, base: '/store', mayShow: (async () => true) as never })
  const server = createServer((request, response) => void late.handle(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as { port: number }
  const page = await (await fetch(`http://127.0.0.1:${port}/store/entity/${id}`)).text()
  expect(page).toContain('not a promise')
  expect(page).not.toContain('ada')
})

test('createConsole refuses a base that is not a path', () => {
  for (const base of ['', 'store', '/', '/store/', '/a b', undefined])
    expect(() => createConsole({ store, base: base as string })).toThrow('a path such as /store')
})

test.each([
  ['without a name', {}, 'got nothing'],
  ['of another kind', 7, 'got a number'],
  ['with a slash in its name', { name: 'a/b' }, 'got "a/b"'],
  ['that has the address of another page', { name: 'shards' }, 'got "shards"'],
  ['that is given twice', { name: 'live' }, 'got "live" twice'],
])('a page %s is refused', (_, page, received) => {
  const pages = [page, page] as unknown as ConsoleOptions['pages']
  expect(() => createConsole({ store, base: '/store', pages })).toThrow(received)
})
