import {
  editWhenFree,
  placeAt,
  readRegistry,
  REGISTRY_TASK,
  registryFromText,
  registryToText,
  type Registration,
  type Registry,
} from '@looseleaf/protocol/internal'
import type { DataStore } from '@looseleaf/store'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { gone, Search } from '../../test/search.ts'
import { beginningOf, register, unregister, type RegisterOptions } from './registry.ts'

let search: Search
let store: DataStore

beforeEach(async () => {
  search = await Search.begin()
  store = await search.openStore()
})
afterEach(() => search.end(store))

const start = (from?: RegisterOptions['from']): Promise<Registration> =>
  register(store.context, 'search', { from })
const known = async (): Promise<readonly (Registration | undefined)[]> =>
  (await Promise.all([0, 1].map((shard) => readRegistry(store.context, shard, {})))).map((registry) =>
    registry.get('search'),
  )

function edit(shard: number, change: (registry: Registry) => Registry): Promise<void> {
  const { memory } = search
  return editWhenFree(
    { ...store.context, driver: memory },
    shard,
    REGISTRY_TASK,
    (text) => registryToText(change(registryFromText(text))),
    {},
  )
}

/** Puts a registration on a shard, in place of the one that it has. */
const put = (shard: number, registration: Registration): Promise<void> =>
  edit(shard, (registry) => new Map([...registry, ['search', registration]]))

/** Counts raises of floors. */
function countRaises(): () => number {
  let raises = 0
  search.plan = ({ operation }) => void (operation === 'raiseFloor' && raises++)
  return () => raises
}

test.each([
  ['beginning', 0],
  ['now', 1],
] as const)('a new consumer from %s begins at the same moment on every shard', async (from, isLater) => {
  const registration = await start(from)
  expect(registration.floors.map((floor) => floor > 0)).toEqual([true, true])
  expect(registration.begun).toEqual(registration.floors.map((floor) => floor * isLater))
  expect(await known()).toEqual([registration, registration])
})

test.each([0, 1])(
  'a consumer that shard %i has forgotten is registered there again as it was, without `from`',
  async (shard) => {
    const registration = await start('now')
    await edit(shard, () => new Map())
    const raises = countRaises()
    expect(await start()).toEqual(registration)
    expect(await known()).toEqual([registration, registration])
    expect(raises()).toBe(0)
  },
)

test.each([0, 1])(
  'a registration that shard %i has without its floors is completed from the other shard',
  async (shard) => {
    const registration = await start('now')
    await put(shard, { ...registration, begun: [], floors: [] })
    expect(await start()).toEqual(registration)
    expect(await known()).toEqual([registration, registration])
  },
)

test('a registration that was interrupted before its floors keeps its incarnation, and needs `from`', async () => {
  const named = { incarnation: 'a', at: 5, kinds: ['post'], begun: [], floors: [] }
  for (const shard of [0, 1]) await put(shard, named)
  await expect(start()).rejects.toMatchObject({ code: 'BAD_OPTION' })
  const complete = await start('beginning')
  expect(complete).toMatchObject({ incarnation: 'a', at: 5, kinds: ['post'], begun: [0, 0] })
  expect(await known()).toEqual([complete, complete])
})

test('a known consumer is registered although a shard does not answer, and a new one is not', async () => {
  const registration = await start('now')
  search.plan = ({ shard, table }) => (shard === 1 && table === 'tasks' ? gone : undefined)
  expect(await start()).toEqual(registration)
  await expect(register(store.context, 'other', { from: 'now' })).rejects.toMatchObject({
    code: 'SHARD_UNAVAILABLE',
  })
})

test('a consumer begins at its registration, and at the beginning of a shard that joined later', async () => {
  const { incarnation, begun, floors } = await start('now')
  const beginning = (shard: number, of = incarnation): ReturnType<typeof beginningOf> =>
    beginningOf(store.context, 'search', of, shard, {})
  expect(await beginning(1)).toEqual({ ...placeAt(begun[1]!), since: floors[1] })
  expect(await beginning(2)).toEqual({ ...placeAt(0), since: 0 })
  expect(await beginning(1, 'of another')).toBeUndefined()
  await put(0, { incarnation: 'b', at: 1, begun: [], floors: [] })
  expect(await beginning(1)).toMatchObject({ since: floors[1] })
  await put(1, { incarnation: 'b', at: 1, begun: [], floors: [] })
  expect(await beginning(1, 'b')).toBeUndefined()
})

test('the registrations that stand at its beginning are deleted by an end, and others stay', async () => {
  await start('now')
  await register(store.context, 'other', { from: 'now' })
  const next = { incarnation: 'next', at: 1, kinds: undefined, begun: [1], floors: [1] }
  let isFirst = true
  search.plan = ({ shard, operation }) => {
    if (shard !== 0 || operation !== 'claim' || !isFirst) return undefined
    isFirst = false
    return { before: () => put(0, next) }
  }
  await unregister(store.context, 'search', {})
  expect(await known()).toEqual([next, undefined])
  expect([...(await readRegistry(store.context, 1, {})).keys()]).toEqual(['other'])
})

test('a registration that comes back on a shard while it is deleted is deleted again', async () => {
  const registration = await start('now')
  let isFirst = true
  search.plan = ({ shard, operation, args }) => {
    if (shard !== 0 || operation !== 'save' || args[0] !== REGISTRY_TASK || !isFirst) return undefined
    isFirst = false
    return { after: () => put(0, registration) }
  }
  await unregister(store.context, 'search', {})
  expect(await known()).toEqual([undefined, undefined])
})

test('no registration is deleted while a shard cannot be read', async () => {
  const registration = await start('now')
  search.plan = ({ shard, operation }) => (shard === 1 && operation === 'load' ? gone : undefined)
  await expect(unregister(store.context, 'search', {})).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
  search.plan = () => undefined
  expect(await known()).toEqual([registration, registration])
})
