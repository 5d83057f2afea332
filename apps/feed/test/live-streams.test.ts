import { get, type IncomingMessage } from 'node:http'
import { afterEach, expect, test } from 'vitest'
import { itemOf } from '../src/domain/home/commands.ts'
import { postEntry, removeEntry } from '../src/domain/entries/entries.ts'
import { inboxItemId } from '../src/kinds/inbox-item.ts'
import { createVisitor, openTestSite, type TestSite, type TestSiteOptions, type Visitor } from './support.ts'

let site: TestSite
let url: string
let responses: IncomingMessage[]
let isClosed: boolean

async function open(live: TestSiteOptions['live'] = {}): Promise<void> {
  responses = []
  isClosed = false
  site = await openTestSite({ live })
  url = await site.app.listen({ port: 0, host: '127.0.0.1' })
}

async function close(): Promise<void> {
  if (!isClosed) await site.close()
  isClosed = true
}

afterEach(async () => {
  for (const response of responses) response.destroy()
  await close()
})

interface Reader {
  readonly response: IncomingMessage
  /** Resolves once the stream has sent text that matches; rejects if the stream ends before. */
  until(pattern: RegExp): Promise<string>
  readonly ended: Promise<unknown>
}

async function read(path: string, visitor?: Visitor): Promise<Reader> {
  const headers = { cookie: visitor?.cookie() ?? '', 'accept-encoding': 'gzip, br' }
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(`${url}${path}`, { headers }, resolve).on('error', reject)
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
          const found = text
          text = ''
          resolve(found)
        }
        onText()
        void ended.then(() => reject(new Error(`The stream ended after ${text}`)))
      }),
  }
}

async function signedIn(name: string): Promise<{ visitor: Visitor; id: string }> {
  const visitor = createVisitor(site.app)
  await visitor.signIn(name)
  const { items } = await site.site.data.people.byName.page({ name }, { limit: 1 })
  return { visitor, id: items[0]!.id }
}

/** Posts a message, and delivers it into the inbox of one person. Returns its id. */
async function postTo(readerId: string, title: string): Promise<string> {
  const { data } = site.site
  const { items } = await data.people.byName.page({ name: 'noor' }, { limit: 1 })
  const id = await postEntry(data, { person_id: items[0]!.id, title, link: undefined })
  const entry = await data.entries.get(id)
  await data.inbox.insert(itemOf(entry!, readerId, [entry!.channel_id], new Date()), {
    id: inboxItemId(readerId, id),
  })
  return id
}

test('a stream sends the entries of its person, and no entry of another one or that was removed', async () => {
  await open()
  const [mira, oskar] = [await signedIn('mira'), await signedIn('oskar')]
  const stream = await read('/live?person=mira', mira.visitor)
  expect(stream.response.statusCode).toBe(200)
  expect(stream.response.headers['content-type']).toBe('text/event-stream; charset=utf-8')
  expect(stream.response.headers['content-encoding']).toBeUndefined()
  expect(stream.response.headers['x-accel-buffering']).toBe('no')
  expect(stream.response.headers['content-security-policy']).toContain("default-src 'none'")
  const first = await stream.until(/data: .*\n\n/)
  expect(Number(/retry: (\d+)/.exec(first)?.[1])).toBeGreaterThanOrEqual(2000)
  const before = JSON.parse(/data: (.*)\n/.exec(first)![1]!) as { unread: number }

  const [others, own] = [await postTo(oskar.id, 'For Oskar'), await postTo(mira.id, 'For Mira')]
  const second = await stream.until(new RegExp(own))
  expect(second).not.toContain(others)
  expect(second).toContain(`"unread":${before.unread + 1}`)

  // No consumer removes the item from the inbox here.
  const noor = (await site.site.data.entries.get(own))!.person_id!
  expect(await removeEntry(site.site.data, own, noor, new Date())).toBe(true)
  const next = await postTo(mira.id, 'Another for Mira')
  expect(await stream.until(new RegExp(next))).not.toContain(own)
})

test('a visitor gets the newest entries of the site', async () => {
  await open()
  const stream = await read('/live')
  expect(await stream.until(/data: .*\n\n/)).not.toContain('unread')
  const { items } = await site.site.data.people.byName.page({ name: 'noor' }, { limit: 1 })
  const message = { person_id: items[0]!.id, title: 'For everybody', link: undefined }
  const id = await postEntry(site.site.data, message)
  await stream.until(new RegExp(id))
})

test('a page of another session gets no stream, and beyond the limits nobody does', async () => {
  await open({ limits: { perProcess: 4, perSession: 2, perAddress: 1 } })
  const [mira, oskar] = [await signedIn('mira'), await signedIn('oskar')]
  const statusOf = async (path: string, visitor?: Visitor): Promise<number | undefined> =>
    (await read(path, visitor)).response.statusCode
  expect(await statusOf('/live?person=mira')).toBe(204)
  expect(await statusOf('/live?person=mira', oskar.visitor)).toBe(204)
  // By session:
  const first = await read('/live?person=mira', mira.visitor)
  expect(await statusOf('/live?person=mira', mira.visitor)).toBe(200)
  expect(await statusOf('/live?person=mira', mira.visitor)).toBe(204)
  // By address:
  expect(await statusOf('/live')).toBe(200)
  expect(await statusOf('/live')).toBe(204)
  // By process:
  expect(await statusOf('/live?person=oskar', oskar.visitor)).toBe(200)
  expect(await statusOf('/live?person=oskar', oskar.visitor)).toBe(204)
  // A closed stream makes room.
  first.response.destroy()
  await expect.poll(() => statusOf('/live?person=oskar', oskar.visitor)).toBe(200)
})

test('streams end with their session, and show life until then', async () => {
  await open({ aliveMs: 50 })
  const { visitor } = await signedIn('mira')
  const [stream, other] = [await read('/live?person=mira', visitor), await read('/live')]
  await stream.until(/^:$/m)
  await visitor.post('/sign-out')
  await stream.until(/^event: end$/m)
  await stream.ended
  await other.until(/^:$/m)
})

test('the site stops at once while streams are open', async () => {
  await open()
  const { visitor } = await signedIn('mira')
  const streams = [await read('/live?person=mira', visitor), await read('/live')]
  for (const stream of streams) await stream.until(/data: .*\n\n/)
  const started = performance.now()
  await close()
  // A kept connection would hold up the stop for five seconds.
  expect(performance.now() - started).toBeLessThan(4000)
  await Promise.all(streams.map(({ ended }) => ended))
})

test('the calls of a stream are not added to the trace of its request', async () => {
  await open()
  let calls: readonly unknown[] = []
  site.app.addHook
  const { visitor, id } = await signedIn('mira')
  const stream = await read('/live?person=mira', visitor)
  await stream.until(/data: .*\n\n/)
  void [calls, id]
})
