import { memoryShards } from 'looseleaf'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openSite, type Site } from '../site/site.ts'
import {
  beginSession,
  endSession,
  endSessionOf,
  isDue,
  keepNotice,
  newNonce,
  openSession,
  renewSession,
  SESSION_MS,
  sessionId,
  sessionsOf,
  type SessionKey,
} from './sessions.ts'

const now = new Date()
const DAY = 24 * 60 * 60 * 1000
let site: Site
let personId: string
beforeEach(async () => {
  site = await openSite({ shards: memoryShards(3), cleaner: false })
  personId = (await site.data.people.insert({ name: 'ann', full_name: 'Ann', bio: '', hue: 1, joined: now }))
    .id
})
afterEach(() => site.close())

const newKey = (): SessionKey => ({ nonce: newNonce(), personId })
/** The store hides what has expired by its own clock, so tests begin sessions earlier. */
const earlier = (ms: number): Date => new Date(now.getTime() - ms)
const firefox = { browser: 'Firefox on Linux', account: undefined }

async function begin(at: Date = now): Promise<SessionKey> {
  const key = newKey()
  await beginSession(site.data, key, firefox, at)
  return key
}

test('a session and its person are read together, by one statement on one shard', async () => {
  const key = await begin()
  await site.store.trace(async (trace) => {
    expect((await openSession(site.data, key))?.person.name).toBe('ann')
    expect(trace.statements).toHaveLength(1)
  })
})

test('an unknown or ended session, and one of another person, does not open', async () => {
  expect(await openSession(site.data, newKey())).toBeUndefined()
  const key = await begin()
  expect(await openSession(site.data, key)).toBeDefined()
  expect(await openSession(site.data, { ...key, personId: site.store.newId() })).toBeUndefined()
  await endSession(site.data, key)
  expect(await openSession(site.data, key)).toBeUndefined()
})

test('a session ends a month after its last renewal', async () => {
  const key = await begin(earlier(SESSION_MS - DAY))
  expect(await openSession(site.data, key)).toBeDefined()
  await renewSession(site.data, key, earlier(SESSION_MS - 60_000))
  expect(await openSession(site.data, key)).toBeDefined()
  await renewSession(site.data, key, earlier(SESSION_MS))
  expect(await openSession(site.data, key)).toBeUndefined()
  expect(await openSession(site.data, await begin(earlier(SESSION_MS)))).toBeUndefined()
  expect(await sessionsOf(site.data, personId)).toEqual([])
})

test('a session is due for renewal a day after the last one', async () => {
  const key = await begin(earlier(DAY))
  const { session } = (await openSession(site.data, key))!
  expect([isDue(session, now), isDue(session, new Date(now.getTime() + 1))]).toEqual([false, true])
})

test('the renewal of a session that has ended does not begin it again', async () => {
  const key = await begin()
  await endSession(site.data, key)
  await renewSession(site.data, key)
  expect(await openSession(site.data, key)).toBeUndefined()
})

test('a stored session contains neither its nonce nor anything that opens it', async () => {
  const key = await begin()
  const stored = await site.store.get(sessionId(key))
  expect(JSON.stringify(stored)).not.toContain(key.nonce)
  for (const value of Object.values(stored ?? {}))
    expect(await openSession(site.data, { nonce: String(value), personId })).toBeUndefined()
})

test('a person lists and ends the own sessions only', async () => {
  const [one, two] = [await begin(), await begin()]
  expect((await sessionsOf(site.data, personId)).map(({ browser }) => browser)).toEqual([
    firefox.browser,
    firefox.browser,
  ])
  expect(await endSessionOf(site.data, site.store.newId(), sessionId(one))).toBe(false)
  expect(await endSessionOf(site.data, personId, sessionId(one))).toBe(true)
  expect(await openSession(site.data, one)).toBeUndefined()
  expect(await openSession(site.data, two)).toBeDefined()
})

test('a notice stays with its session', async () => {
  const key = await begin()
  const notice = { title: 'Imported', about: '', lines: [] }
  await keepNotice(site.data, key, notice)
  expect((await openSession(site.data, key))?.session.notice).toEqual(notice)
})
