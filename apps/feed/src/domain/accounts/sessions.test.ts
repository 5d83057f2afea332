import { memoryShards } from 'looseleaf'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { beginSession, endSession, personOfSession, SESSION_MS } from './sessions.ts'
import { openSite, type Site } from '../site/site.ts'

const now = new Date('2026-06-01T12:00:00Z')
let site: Site
let personId: string
beforeEach(async () => {
  site = await openSite({ shards: memoryShards(3), cleaner: false })
  personId = (await site.data.people.insert({ name: 'ann', full_name: 'Ann', bio: '', hue: 1, joined: now }))
    .id
})
afterEach(() => site.close())

const later = (ms: number): Date => new Date(now.getTime() + ms)

test('a session and its person are read together, by one statement on one shard', async () => {
  const session = { nonce: 'a', personId }
  await beginSession(site.data, session, now)
  await site.store.trace(async (trace) => {
    expect((await personOfSession(site.data, session, now))?.name).toBe('ann')
    expect([trace.calls.length, trace.statements.length]).toEqual([2, 1])
  })
})

test('an unknown, ended or expired session belongs to no person', async () => {
  const session = { nonce: 'a', personId }
  expect(await personOfSession(site.data, session, now)).toBeUndefined()
  await beginSession(site.data, session, now)
  expect(await personOfSession(site.data, session, later(SESSION_MS - 1))).toBeDefined()
  expect(await personOfSession(site.data, session, later(SESSION_MS))).toBeUndefined()
  await endSession(site.data, session)
  expect(await personOfSession(site.data, session, now)).toBeUndefined()
})

test('expired sessions are deleted when their person signs in again', async () => {
  await beginSession(site.data, { nonce: 'a', personId }, now)
  await beginSession(site.data, { nonce: 'b', personId }, later(1))
  await beginSession(site.data, { nonce: 'c', personId }, later(SESSION_MS + 1))
  const remaining = await site.data.sessions.byPerson.all({ person_id: personId })
  expect(remaining.map((session) => session.signed_in)).toEqual([later(1), later(SESSION_MS + 1)])
})
