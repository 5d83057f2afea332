import { memoryShards } from 'looseleaf'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { accountId } from '../../kinds/account.ts'
import { freshEntry } from '../entries/fresh-entry.ts'
import { openSite, type Site } from '../site/site.ts'
import {
  changeAddress,
  changePassword,
  deleteMember,
  join,
  verifyMember,
  type Member,
  type NewMember,
} from './commands.ts'
import { hashPassword, isOutdated, isPassword } from './passwords.ts'
import { addressOf } from './people.ts'
import { beginSession, newNonce, openSession, sessionId, type SessionKey } from './sessions.ts'

let site: Site
beforeEach(async () => {
  site = await openSite({ shards: memoryShards(3), cleaner: false })
})
afterEach(() => site.close())

const now = new Date()
const PASSWORD = 'four words in order'

function joinAs(name: string, more: Partial<NewMember> = {}): ReturnType<typeof join> {
  return join(site.data, { name, full_name: name, address: undefined, password: PASSWORD, ...more }, now)
}

async function member(name: string, more: Partial<NewMember> = {}): Promise<Member> {
  const joined = await joinAs(name, more)
  if (typeof joined === 'string') throw new Error(`The ${joined} is taken.`)
  return joined
}

async function signedIn({ person, account }: Member): Promise<SessionKey> {
  const key = { nonce: newNonce(), personId: person.id }
  await beginSession(site.data, key, { browser: 'A browser', account })
  return key
}

test('a name goes to one of the people who join with it at the same time, and nothing stays of the others', async () => {
  const results = await Promise.all(Array.from({ length: 5 }, () => joinAs('ann')))
  expect(results.filter((result) => result === 'name')).toHaveLength(4)
  expect(await site.data.people.byName.count({ name: 'ann' })).toBe(1)
  expect(await site.data.people.byTime.count({}, { scatter: true })).toBe(1)
  const kinds: unknown[] = []
  for await (const entity of site.store.scan()) kinds.push(entity['_kind'])
  expect(kinds.toSorted()).toEqual(['account', 'person'])
})

test('an address belongs to one account, and signs its person in', async () => {
  const ann = await member('ann', { address: 'ann@example.org' })
  expect(await joinAs('bob', { address: 'ann@example.org' })).toBe('address')
  expect(await site.data.people.byName.first({ name: 'bob' })).toBeUndefined()
  expect((await verifyMember(site.data, ' ANN@example.org', PASSWORD))?.person.id).toBe(ann.person.id)
  expect(await addressOf(site.data, ann.person.id)).toBe('ann@example.org')
})

test('a name signs in in any case, with its password only', async () => {
  await member('ann')
  expect((await verifyMember(site.data, 'Ann', PASSWORD))?.person.name).toBe('ann')
  expect(await verifyMember(site.data, 'ann', `${PASSWORD} `)).toBeUndefined()
  expect(await verifyMember(site.data, 'ann', '')).toBeUndefined()
  expect(await verifyMember(site.data, 'nobody', PASSWORD)).toBeUndefined()
})

test('a person without an account signs in with no password', async () => {
  await site.data.people.insert({
    name: 'mira',
    full_name: 'Mira',
    bio: '',
    hue: 1,
    joined: now,
    sample: true,
  })
  for (const password of ['', PASSWORD])
    expect(await verifyMember(site.data, 'mira', password)).toBeUndefined()
})

test('the stored account does not contain the password', async () => {
  const { account } = await member('ann')
  expect(JSON.stringify(account)).not.toContain(PASSWORD)
  expect(account.password).toMatchObject({ memory: 19_456, passes: 2, parallelism: 1 })
  const again = await hashPassword(PASSWORD)
  expect(again.tag).not.toBe(account.password.tag)
  expect(await isPassword(PASSWORD, again)).toBe(true)
})

test('a composed and a decomposed letter are the same in a password', async () => {
  const hash = await hashPassword('caf\u00e9 au lait')
  expect(await isPassword('cafe\u0301 au lait', hash)).toBe(true)
})

test('a hash with outdated parameters is replaced when its person signs in', async () => {
  const ann = await member('ann')
  // The argon2id hash of this password with 8 MiB, one pass and a nonce of zeros.
  const { argon2Sync } = await import('node:crypto')
  const old = { memory: 8192, passes: 1, parallelism: 1 }
  const nonce = Buffer.alloc(16)
  const tag = argon2Sync('argon2id', { message: Buffer.from(PASSWORD), nonce, tagLength: 32, ...old })
  const password = { tag: tag.toString('base64url'), nonce: nonce.toString('base64url'), ...old }
  await site.data.accounts.update(ann.account.id, { password })
  expect(isOutdated(password)).toBe(true)
  expect(await verifyMember(site.data, 'ann', 'wrong password')).toBeUndefined()
  expect((await site.data.accounts.get(ann.account.id))?.password).toEqual(password)
  const results = await Promise.all([1, 2].map(() => verifyMember(site.data, 'ann', PASSWORD)))
  expect(results.map((result) => result?.person.name)).toEqual(['ann', 'ann'])
  expect(isOutdated((await site.data.accounts.get(ann.account.id))!.password)).toBe(false)
  expect(await verifyMember(site.data, 'ann', PASSWORD)).toBeDefined()
})

test('a changed password ends all other sessions, and the old one proves nothing', async () => {
  const ann = await member('ann')
  const [kept, other] = [await signedIn(ann), await signedIn(ann)]
  const change = (current: string): Promise<boolean> =>
    changePassword(
      site.data,
      ann.person.id,
      { current, next: 'another password' },
      {
        now,
        keepSession: sessionId(kept),
      },
    )
  expect(await change('wrong password')).toBe(false)
  expect(await openSession(site.data, other)).toBeDefined()
  expect(await change(PASSWORD)).toBe(true)
  expect(await openSession(site.data, kept)).toBeDefined()
  expect(await openSession(site.data, other)).toBeUndefined()
  expect(await verifyMember(site.data, 'ann', PASSWORD)).toBeUndefined()
  expect(await verifyMember(site.data, 'ann', 'another password')).toBeDefined()
})

test('a sign-in whose password changes before its session begins fails', async () => {
  const ann = await member('ann')
  const verified = (await verifyMember(site.data, 'ann', PASSWORD))!
  const passwords = { current: PASSWORD, next: 'another password' }
  await changePassword(site.data, ann.person.id, passwords, { now, keepSession: undefined })
  await expect(signedIn(verified)).rejects.toMatchObject({ code: 'VERSION_MISMATCH' })
  expect(await site.data.sessions.byPerson.all({ person_id: ann.person.id })).toEqual([])
})

test('an address is changed and removed with the password, and stays unique', async () => {
  const [ann, bob] = [await member('ann', { address: 'ann@example.org' }), await member('bob')]
  const change = (address: string | undefined, password = PASSWORD): ReturnType<typeof changeAddress> =>
    changeAddress(site.data, bob.person.id, { address, password })
  expect(await change('ann@example.org')).toBe('taken')
  expect(await change('bob@example.org', 'wrong password')).toBe('wrong password')
  expect(await change('bob@example.org')).toBe('changed')
  expect(await change(undefined)).toBe('changed')
  expect(await verifyMember(site.data, 'bob@example.org', PASSWORD)).toBeUndefined()
  await changeAddress(site.data, ann.person.id, { address: 'bob@example.org', password: PASSWORD })
  expect((await verifyMember(site.data, 'bob@example.org', PASSWORD))?.person.name).toBe('ann')
})

test('a deleted member keeps nothing but entries, comments and likes, and the name is free', async () => {
  const [ann, bob] = [await member('ann', { address: 'ann@example.org' }), await member('bob')]
  const key = await signedIn(ann)
  const [person_id, other] = [ann.person.id, bob.person.id]
  const { data } = site
  const entry = await data.entries.insert(freshEntry({ title: 'Stays', person_id, published: now }, now))
  await data.follows.insertMany([
    { person_id, channel_id: other, since: now },
    { person_id: other, channel_id: person_id, since: now },
  ])
  await data.services.insert({ person_id, source_id: site.store.newId(), added: now })
  expect(await deleteMember(data, person_id, 'wrong password')).toBe(false)
  expect(await deleteMember(data, person_id, PASSWORD)).toBe(true)
  expect(await openSession(data, key)).toBeUndefined()
  expect(await data.accounts.get(accountId(person_id))).toBeUndefined()
  expect(await data.follows.byPerson.count({ person_id: other })).toBe(0)
  expect(await data.follows.byPerson.count({ person_id })).toBe(0)
  expect(await data.services.byPerson.count({ person_id })).toBe(0)
  expect(await data.sessions.byPerson.count({ person_id })).toBe(0)
  expect((await data.entries.get(entry.id))?.title).toBe('Stays')
  expect(await verifyMember(data, 'ann@example.org', PASSWORD)).toBeUndefined()
  expect(await deleteMember(data, person_id, PASSWORD)).toBe(false)
  expect((await member('ann', { address: 'ann@example.org' })).person.id).not.toBe(person_id)
})

test('a follow that begins while its person leaves goes with the person', async () => {
  const { data } = site
  const [ann, bob] = [await member('ann'), await member('bob')]
  const follow = { person_id: bob.person.id, channel_id: ann.person.id, since: now }
  const { follows } = data
  let isBegun = false
  const deleteWhere: typeof follows.byChannel.deleteWhere = async (...args) => {
    const deleted = await follows.byChannel.deleteWhere(...args)
    if (!isBegun) await follows.insert(follow)
    isBegun = true
    return deleted
  }
  const overlapped = {
    ...data,
    follows: { ...follows, byChannel: { ...follows.byChannel, deleteWhere } },
  } as unknown as typeof data
  expect(await deleteMember(overlapped, ann.person.id, PASSWORD)).toBe(true)
  expect(await follows.byPerson.all({ person_id: bob.person.id })).toEqual([])
})
