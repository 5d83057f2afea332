import { createServer, request, type IncomingMessage, type Server } from 'node:http'
import { cleanIndex } from '@looseleaf/cleaner'
import { tunedCleanIndex } from '@looseleaf/cleaner/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { DataStore, defineIndex } from '@looseleaf/store'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import type { Act } from '../acts/acts.ts'
import { createConsole, type Console, type ConsoleOptions } from '../console.ts'

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })

let store: DataStore
let warnings: string[]
let done: Act[]
let port: number
let server: Server

beforeEach(async () => {
  warnings = []
  const onWarning = (warning: string): void => void warnings.push(warning)
  store = await DataStore.open({ shards: memoryShards(2), migrate: true, onWarning })
  await store.putMany(['ada', 'bo', 'cy'].map((name) => ({ name })))
  done = []
  await serve({ offer: [byName], acts: { onAct: (ended) => done.push(ended) } })
  onTestFinished(() => store.close())
})

/** Serves a new console with these options. Later requests go to it. */
async function serve(options: Partial<ConsoleOptions>): Promise<Console> {
  const window = createConsole({ store, base: '/store', ...options })
  server = createServer((incoming, response) => {
    if (!window.handle(incoming, response)) response.writeHead(418).end()
  })
  const started = server
  await new Promise<void>((resolve) => started.listen(0, '127.0.0.1', resolve))
  port = (started.address() as { port: number }).port
  onTestFinished(() => {
    window.close()
    started.closeAllConnections()
    started.close()
  })
  return window
}

interface Reply {
  readonly status: number | undefined
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

function ask(method: string, path: string, headers: Record<string, string> = {}, body = ''): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const sent = request({ port, host: '127.0.0.1', method, path, headers, agent: false }, (reply) => {
      let text = ''
      reply.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      reply.on('end', () => resolve({ status: reply.statusCode, headers: reply.headers, body: text }))
    })
    sent.on('error', reject).end(body)
  })
}

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

/** Loads the page. Returns its cookie and the token of its form, like a browser. */
async function load(): Promise<{ cookie: string; token: string; page: string }> {
  const { headers, body } = await ask('GET', '/store/offered')
  const [cookie = ''] = headers['set-cookie']?.[0]?.split(';') ?? []
  return { cookie, token: /name="token" value="([^"]+)"/.exec(body)?.[1] ?? '', page: body }
}

async function act(fields: Record<string, string>, headers: Record<string, string> = {}): Promise<Reply> {
  const { cookie, token } = await load()
  const body = new URLSearchParams({ token, ...fields }).toString()
  return ask('POST', '/store/offered', { cookie, ...FORM, ...headers }, body)
}

const page = async (): Promise<string> => (await ask('GET', '/store/offered')).body
const indexes = async (): Promise<string[]> =>
  (await store.indexes())
    .filter(({ state }) => state !== 'dropped')
    .map(({ name, state }) => `${name} ${state}`)

test('an index is added, filled, and dropped after a question, and each act is logged and listed', async () => {
  expect(await page()).toContain('by_name: absent')
  const added = await act({ add: 'by_name' })
  expect(added).toMatchObject({ status: 303, headers: { location: '/store/offered#add-by_name' } })
  expect(await indexes()).toEqual(['by_name building'])
  expect(await page()).toMatch(/by_name: building[\s\S]*No cleaner runs now, so it is not being filled/)

  await tunedCleanIndex(store, 'by_name', { settleMs: 0 })
  const ready = await page()
  expect(ready).toMatch(/by_name: ready[\s\S]*3 rows added, 0 rows removed/)

  const question = await act({ drop: 'by_name' })
  expect(question.status).toBe(200)
  expect(question.body).toContain('Yes, drop by_name')
  expect(await indexes()).toEqual(['by_name ready'])
  expect((await act({ drop: 'by_name', sure: 'yes' })).status).toBe(303)
  expect(await indexes()).toEqual([])

  expect(done).toMatchObject([
    { name: 'add', about: 'by_name', at: expect.any(Date), failure: undefined },
    { name: 'drop', about: 'by_name', failure: undefined },
  ])
  const list = await page()
  const acts = [...list.matchAll(/<td><span class="long">(\w+) by_name</g)].map(([, name]) => name)
  expect(acts).toEqual(['drop', 'add'])
})

test('the page shows the progress of a filling', async () => {
  await act({ add: 'by_name' })
  const controller = new AbortController()
  const { signal } = controller
  // Stopped after its first progress.
  const onProgress = (): void => controller.abort()
  await cleanIndex(store, 'by_name', { signal, onProgress, rowsPerSecond: 1000 }).catch(() => {})
  expect(await page()).toMatch(/<progress max="1" value="[\d.]+"[^>]*>\d+\u00a0%<\/progress>/)
})

test.each<[why: string, status: number, headers: Record<string, string>, fields: Record<string, string>]>([
  ['without a token', 403, {}, { token: '' }],
  ['with a wrong token', 403, {}, { token: 'A'.repeat(43) }],
  ['with the token of another browser', 403, { cookie: `looseleaf_console=${'x'.repeat(24)}` }, {}],
  ['without a cookie', 403, { cookie: '' }, {}],
  ['from another site, as the browser says', 403, { 'sec-fetch-site': 'cross-site' }, {}],
  ['from another site of the same domain', 403, { 'sec-fetch-site': 'same-site' }, {}],
  ['from another origin', 403, { origin: 'http://attacker.example' }, {}],
  ['from nowhere that is told', 403, { origin: 'null' }, {}],
  ['under another name', 403, { host: 'attacker.example' }, {}],
  ['under another name, which its page has too', 403, { host: 'a.example', origin: 'http://a.example' }, {}],
  ['as JSON', 415, { 'content-type': 'application/json' }, {}],
  ['without a type', 415, { 'content-type': '' }, {}],
  ['at great length', 413, {}, { more: 'x'.repeat(5000) }],
  ['of an index that is not offered', 404, {}, { add: 'by_nobody' }],
])('an act is refused %s', async (_, status, headers, fields) => {
  const reply = await act({ add: 'by_name', ...fields }, headers)
  expect(reply.status).toBe(status)
  expect(reply.body).toContain('Not done')
  expect(await indexes()).toEqual([])
  expect(done).toEqual([])
})

test('acts are accepted only under the given host names', async () => {
  await serve({
    offer: [byName],
    acts: { onAct: (ended) => done.push(ended), hosts: ['store.example.org'] },
  })
  const refused = await act({ add: 'by_name' })
  expect(refused.status).toBe(403)
  expect(refused.body).toContain(`one of the names store.example.org; got 127.0.0.1:${port}.`)
  expect((await act({ add: 'by_name' }, { host: 'Store.example.org' })).status).toBe(303)
  expect(done).toHaveLength(1)
})

test('reading a page never acts', async () => {
  const { cookie, token } = await load()
  for (const method of ['GET', 'HEAD'])
    await ask(method, `/store/offered?add=by_name&sure=yes&token=${token}`, { cookie, ...FORM })
  await ask('PUT', '/store/offered', { cookie, ...FORM }, `add=by_name&token=${token}`)
  await ask('POST', '/store', { cookie, ...FORM }, `add=by_name&token=${token}`)
  expect(await indexes()).toEqual([])
})

test('a console without acts has no buttons, and refuses forms', async () => {
  await serve({ offer: [byName] })
  const { page: html, cookie } = await load()
  expect(html).toContain('by_name: absent')
  expect(html).not.toMatch(/<form|<button|token/)
  expect(cookie).toBe('')
  expect((await ask('POST', '/store/offered', FORM, 'add=by_name')).status).toBe(405)
  expect(await indexes()).toEqual([])
})

test('a failed act is listed with its error, and its subject is escaped everywhere', async () => {
  const name = '"><img src=x onerror=alert(1)>'
  await serve({
    offer: [{ ...byName, name }],
    acts: { onAct: (ended) => done.push(ended) },
  })
  expect((await act({ add: name })).status).toBe(303)
  expect(done).toMatchObject([{ name: 'add', about: name, failure: expect.stringContaining('BAD_INDEX') }])
  const html = await page()
  expect(html).toContain('BAD_INDEX')
  expect(html).not.toContain('<img')
  expect((await act({ drop: name })).body).not.toContain('<img')
})

test('the page allows one script by its digest, and forms and connections only to its server', async () => {
  const { headers, body } = await ask('GET', '/store/offered')
  expect(headers['content-security-policy']).toMatch(
    /^default-src 'none'; .*form-action 'self'; script-src 'sha256-[^' ]+'; connect-src 'self'$/,
  )
  expect(body.match(/<script/g)).toHaveLength(1)
  expect((await ask('GET', '/store')).headers['content-security-policy']).not.toContain('script-src')
  expect(headers['set-cookie']).toEqual([expect.stringMatching(/; Path=\/store; HttpOnly; SameSite=Strict$/)])
})

interface Stream {
  readonly status: number | undefined
  readonly ended: Promise<void>
  read(): string
  leave(): void
}

function look(): Promise<Stream> {
  return new Promise((resolve, reject) => {
    const sent = request(
      { port, host: '127.0.0.1', path: '/store/offered/events', agent: false },
      (reply) => {
        let text = ''
        reply.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
        const ended = new Promise<void>((end) => void reply.on('close', end).on('error', () => {}))
        resolve({ status: reply.statusCode, ended, read: () => text, leave: () => sent.destroy() })
      },
    )
    sent.on('error', reject).end()
  })
}

test('a stream sends the refreshed part without a form', async () => {
  const stream = await look()
  await vi.waitFor(() => expect(stream.read()).toMatch(/^data: <div data-news="by_name is absent">/), 5000)
  expect(stream.read()).toMatch(/^(data: .*\n)+\n/)
  expect(stream.read()).not.toContain('token')
})

test('a stream ends with its client, 20 are accepted, and close ends all', async () => {
  const window = await serve({ offer: [byName] })
  const streams = await Promise.all(Array.from({ length: 20 }, look))
  expect(streams.map(({ status }) => status)).toEqual(streams.map(() => 200))
  expect((await look()).status).toBe(503)
  streams[0]?.leave()
  const again = await vi.waitFor(async () => {
    const stream = await look()
    expect(stream.status).toBe(200)
    return stream
  }, 5000)
  window.close()
  await Promise.all([again, ...streams].map(({ ended }) => ended))
  expect((await look()).status).toBe(503)
})

test('the page shows the error of a store that does not answer', async () => {
  await store.close()
  const reply = await ask('GET', '/store/offered')
  expect(reply.status).toBe(200)
  expect(reply.body).toMatch(/<p>The state of the indexes is unknown: /)
})

test('the errors of bad options name the expectation', () => {
  const offer = [byName]
  const bad =
    (options: object): unknown =>
    () =>
      createConsole({ store, base: '/store', ...options })
  expect(bad({ offer: byName })).toThrow('The option offer of createConsole has to be an array')
  expect(bad({ pages: 'all' })).toThrow('The option pages of createConsole has to be an array')
  expect(bad({ offer, acts: {} })).toThrow('a function for each act')
  expect(bad({ offer, acts: { onAct() {}, hosts: 'localhost' } })).toThrow('an array of host names')
})

test('an onAct that throws or rejects does not change the act', async () => {
  const fail = (): never => {
    throw new Error('the log is full')
  }
  for (const onAct of [fail, async () => fail()]) {
    await serve({ offer: [byName], acts: { onAct } })
    expect((await act({ add: 'by_name' })).status).toBe(303)
  }
  await vi.waitFor(() => expect(warnings.filter((text) => text.includes('the log is full'))).toHaveLength(2))
})

test('acts through a proxy are refused without host names, and other sites get no stream', async () => {
  expect((await act({ add: 'by_name' }, { 'x-forwarded-for': '192.0.2.1' })).status).toBe(403)
  expect(await indexes()).toEqual([])
  expect((await ask('GET', '/store/offered/events', { 'sec-fetch-site': 'cross-site' })).status).not.toBe(200)
})
