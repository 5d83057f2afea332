import { get, type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { LooseleafError, type Trace } from 'looseleaf'
import { afterEach, expect, test } from 'vitest'
import type { AppOptions } from '../src/app.ts'
import { removeEntry } from '../src/domain/entries/entries.ts'
import { freshEntry } from '../src/domain/entries/fresh-entry.ts'
import { markIfPulled } from '../src/domain/home/pulled-follows.ts'
import { pulledChannelId } from '../src/kinds/pulled-channel.ts'
import { serviceId } from '../src/kinds/service.ts'
import { openLiveSite, type LiveSite } from './live-site.ts'
import { createVisitor, type TestSite, type Visitor } from './support.ts'

let site: LiveSite
let isClosed = true
const responses: IncomingMessage[] = []

async function open(live?: AppOptions['live'], prepare?: (site: TestSite) => void): Promise<void> {
  site = await openLiveSite(live, prepare)
  isClosed = false
}

async function close(): Promise<void> {
  if (!isClosed) await site.close()
  isClosed = true
}

afterEach(async () => {
  for (const response of responses.splice(0)) response.destroy()
  await close()
})

interface Reader {
  readonly response: IncomingMessage
  /** Resolves with the text since the last call once it matches; rejects if the stream ends before. */
  until(pattern: RegExp): Promise<string>
  readonly ended: Promise<unknown>
}

async function read(path: string, visitor?: Visitor): Promise<Reader> {
  const headers = { cookie: visitor?.cookie() ?? '', 'accept-encoding': 'gzip, br' }
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(`${site.url}${path}`, { headers }, resolve).on('error', reject)
  })
  responses.push(response)
  response.setEncoding('utf8')
  let text = ''
  let onText = (): void => {}
  response.on('data', (part: string) => {
    text += part
    onText()
  })
  const ended = new Promise((resolve) => response.once('close', resolve))
  return {
    response,
    ended,
    until: (pattern) =>
      new Promise((resolve, reject) => {
        onText = () => {
          if (!pattern.test(text)) return
          onText = () => {}
          resolve(text)
          text = ''
        }
        onText()
        void ended.then(() => reject(new Error(`The stream ended after ${text}`)))
      }),
  }
}

async function statusOf(path: string, visitor?: Visitor): Promise<number | undefined> {
  return (await read(path, visitor)).response.statusCode
}

async function signedIn(name: string): Promise<Visitor> {
  const visitor = createVisitor(site.app)
  await visitor.signIn(name)
  return visitor
}

const EVENT = /data: (.*)\n\n/

test('a stream has the entries of its person, and none of others and none that was removed', async () => {
  await open()
  const stream = await read('/live?person=mira', await signedIn('mira'))
  expect(stream.response.statusCode).toBe(200)
  expect(stream.response.headers).toMatchObject({
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
    'content-security-policy': expect.stringContaining("default-src 'none'"),
  })
  expect(stream.response.headers['content-encoding']).toBeUndefined()
  const first = await stream.until(EVENT)
  expect(Number(/retry: (\d+)/.exec(first)?.[1])).toBeGreaterThanOrEqual(2000)
  expect(JSON.parse(EVENT.exec(first)?.[1] ?? '')).toEqual({ unread: 0, entries: [] })

  const others = await site.post('oskar', 'Of Oskar')
  const own = await site.post('noor', 'Of Noor')
  const second = await stream.until(new RegExp(own))
  expect(second).not.toContain(others)
  expect(second).toContain('"unread":1')

  // No consumer removes its item from the inbox here.
  expect(await removeEntry(site.site.data, own, site.ids.noor, new Date())).toBe(true)
  const next = await site.post('noor', 'Another of Noor')
  expect(await stream.until(new RegExp(next))).not.toContain(own)
})

test('a stream has the entries of a channel that is read at each visit, and of the sources of its person', async () => {
  await open()
  const { data, store } = site.site
  const { mira, noor } = site.ids
  const channel = { channel_id: noor, state: 'pulled', turn: 1, next_count: new Date(8e15) } as const
  await data.pulledChannels.insert(channel, { id: pulledChannelId(noor) })
  expect(await markIfPulled(data, mira, noor)).toBe(true)
  const source_id = store.newId()
  await data.services.insert(
    { person_id: noor, source_id, added: new Date() },
    { id: serviceId(noor, source_id) },
  )
  const stream = await read('/live?person=mira', await signedIn('mira'))
  await stream.until(EVENT)
  const message = await site.post('noor', 'For very many')
  await stream.until(new RegExp(message))
  const now = new Date()
  const { id } = await data.entries.insert(
    freshEntry({ title: 'From a source', published: now, source_id }, now),
  )
  await stream.until(new RegExp(id))
  expect(await data.inbox.byPerson.all({ person_id: mira })).toEqual([])
})

test('the stream of a visitor has the newest entries of the site', async () => {
  await open()
  const stream = await read('/live')
  expect(await stream.until(EVENT)).toContain('data: {"entries":[]}')
  const id = await site.post('oskar', 'For everybody')
  await stream.until(new RegExp(id))
})

test('the site refuses streams beyond its limits, and those for a page of another session', async () => {
  await open({ limits: { perProcess: 4, perSession: 2, perAddress: 1 } })
  const [mira, oskar] = [await signedIn('mira'), await signedIn('oskar')]
  expect(await statusOf('/live?person=mira')).toBe(204)
  expect(await statusOf('/live?person=mira', oskar)).toBe(204)
  // By session:
  const first = await read('/live?person=mira', mira)
  expect(await statusOf('/live?person=mira', mira)).toBe(200)
  expect(await statusOf('/live?person=mira', mira)).toBe(204)
  // By address:
  expect(await statusOf('/live')).toBe(200)
  expect(await statusOf('/live')).toBe(204)
  // By process:
  expect(await statusOf('/live?person=oskar', oskar)).toBe(200)
  expect(await statusOf('/live?person=oskar', oskar)).toBe(204)
  // A closed stream makes room.
  first.response.destroy()
  await expect.poll(() => statusOf('/live?person=oskar', oskar)).toBe(200)
})

test('a browser whose connection is reset gives its place back, and other streams go on', async () => {
  await open({ limits: { perProcess: 9, perSession: 1, perAddress: 1 }, aliveMs: 20 })
  const other = await read('/live?person=mira', await signedIn('mira'))
  const stream = await read('/live')
  await stream.until(/^:$/m)
  expect(await statusOf('/live')).toBe(204)
  stream.response.on('error', () => {})
  stream.response.socket.resetAndDestroy()
  await expect.poll(() => statusOf('/live')).toBe(200)
  const id = await site.post('noor', 'After the reset')
  await other.until(new RegExp(id))
})

test('a browser that leaves while its session is read causes no error', async () => {
  await open()
  const mira = await signedIn('mira')
  let socket: Socket | undefined
  site.app.server.prependListener('request', (request: IncomingMessage) => (socket = request.socket))
  const { sessions } = site.site.data
  const { getMany } = sessions
  const leaving = async (...args: Parameters<typeof getMany>) => {
    const found = await getMany(...args)
    socket?.destroy()
    return found
  }
  Object.assign(sessions, { getMany: leaving })
  await expect(read('/live?person=mira', mira)).rejects.toThrow('socket hang up')
  await close()
  expect(site.errors).toEqual([])
})

test('visitors of one IPv6 network share a limit of streams', async () => {
  await open({ limits: { perProcess: 9, perSession: 1, perAddress: 1 } })
  const statusFrom = async (remoteAddress: string): Promise<number> =>
    (await site.app.inject({ url: '/live', remoteAddress, payloadAsStream: true })).statusCode
  expect(await statusFrom('2001:db8:1:2::3')).toBe(200)
  expect(await statusFrom('2001:db8:1:2:ffff::4')).toBe(204)
  expect(await statusFrom('2001:db8:1:3::4')).toBe(200)
})

test('a stream shows life until its session ends', async () => {
  await open({ aliveMs: 50 })
  const visitor = await signedIn('mira')
  const [stream, other] = [await read('/live?person=mira', visitor), await read('/live')]
  await stream.until(/^:$/m)
  await visitor.post('/sign-out')
  const id = await site.post('noor', 'After the session')
  expect(await stream.until(/^event: end$/m)).not.toContain(id)
  await stream.ended
  await other.until(/^:$/m)
})

test('checks that overlap end the stream of an ended session once', async () => {
  await open({ aliveMs: 20 })
  const visitor = await signedIn('mira')
  const stream = await read('/live?person=mira', visitor)
  await stream.until(EVENT)
  const { sessions } = site.site.data
  const { getMany, delete: remove } = sessions
  const late = Promise.withResolvers<void>()
  let isEnding = false
  let checks = 0
  Object.assign(sessions, {
    delete: (...args: Parameters<typeof remove>) => {
      isEnding = true
      return remove(...args)
    },
    getMany: async (...args: Parameters<typeof getMany>) => {
      const found = await getMany(...args)
      if (!isEnding) return found
      checks++
      await late.promise
      return found
    },
  })
  const left = visitor.post('/sign-out')
  await expect.poll(() => checks).toBeGreaterThan(2)
  late.resolve()
  await left
  await stream.until(/^event: end$/m)
  await stream.ended
})

test('a shard that does not answer ends no stream', async () => {
  await open({ aliveMs: 50 })
  const stream = await read('/live?person=mira', await signedIn('mira'))
  await stream.until(EVENT)
  const { refusals } = site.stage.faults
  refusals.add(({ shard }) => new LooseleafError('SHARD_UNAVAILABLE', 'The shard is down.', { shard }))
  // The first sign may have begun before.
  for (let i = 0; i < 3; i++) await stream.until(/^:$/m)
  refusals.clear()
  const id = await site.post('noor', 'After the failure')
  expect(await stream.until(new RegExp(id))).toContain('"unread":1')
})

test('the site stops at once while streams are open', async () => {
  await open()
  const streams = [await read('/live?person=mira', await signedIn('mira')), await read('/live')]
  for (const stream of streams) await stream.until(EVENT)
  const started = performance.now()
  await close()
  // A kept connection would hold up the stop for five seconds.
  expect(performance.now() - started).toBeLessThan(4000)
  await Promise.all(streams.map(({ ended }) => ended))
})

test('the trace of a stream has the calls of its request alone', async () => {
  const traces: Trace[] = []
  await open({}, ({ app }) => {
    app.addHook('preHandler', async ({ url, trace }) => {
      if (url.startsWith('/live') && trace !== undefined) traces.push(trace)
    })
  })
  const stream = await read('/live?person=mira', await signedIn('mira'))
  await stream.until(EVENT)
  const id = await site.post('noor', 'Of Noor')
  await stream.until(new RegExp(id))
  expect(traces).toHaveLength(1)
  // The session and its person.
  expect(traces[0]?.calls).toHaveLength(2)
})
