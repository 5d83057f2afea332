import type { EntityId } from '@looseleaf/core'
import {
  editWhenFree,
  letterTask,
  partitionTask,
  REGISTRY_TASK,
  type LetterList,
} from '@looseleaf/protocol/internal'
import type { DataStore } from '@looseleaf/store'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { gone, Search } from '../../test/search.ts'
import { addLetters, foundLetters, readLetters } from '../records/dead-letters.ts'
import { recordToText, type Failing } from '../records/partition-record.ts'
import { register } from '../records/registry.ts'
import { discardDeadLetters, dropConsumer, readDeadLetters, replayDeadLetters } from './manage-consumers.ts'
import { readConsumers, type ConsumerShardReport } from './read-consumers.ts'

/* Reports on consumers that do not run, from their stored records. */

let search: Search
let store: DataStore
let incarnation: string

beforeEach(async () => {
  search = await Search.begin()
  store = await search.openStore()
  ;({ incarnation } = await register(store.context, 'search', { from: 'now' }))
})
afterEach(() => search.end(store))

const failing = (version = 1, failedAt = 1): Failing => ({
  id: store.newId(),
  version,
  attempts: 2,
  error: 'down',
  failedAt,
})

/** Saves the record of a partition; a process keeps its lease if it has a name. */
async function save(
  partition: number,
  updated: number,
  { of = incarnation, changes = [] as readonly Failing[], process = '' } = {},
): Promise<void> {
  const { tasks } = search.memory.shards[0]!
  const text = recordToText({
    incarnation: of,
    place: { updated, addedId: 0 },
    since: 1,
    failing: changes,
    process,
  })
  const owner = process === '' ? 'a test' : process
  await tasks.claim(partitionTask('search', partition), owner, 60_000)
  await tasks.save(partitionTask('search', partition), owner, text, process === '' ? 0 : 60_000)
}

const add = (
  shard: number,
  partition: number,
  list: LetterList,
  ...letters: readonly Failing[]
): Promise<readonly boolean[]> => addLetters(store.context, 'search', { shard, partition, list }, letters, {})

async function reportOn(shard: number): Promise<ConsumerShardReport> {
  const [report] = await readConsumers(store)
  return report!.shards[shard]!
}

test('consumers are reported by name, with the time of their registration', async () => {
  const before = Date.now()
  await register(store.context, 'ads', { from: 'now', kinds: ['post'] })
  const reports = await readConsumers(store)
  expect(reports.map(({ name, kinds }) => [name, kinds])).toEqual([
    ['ads', ['post']],
    ['search', undefined],
  ])
  expect(reports[0]!.registeredAt!.getTime()).toBeGreaterThanOrEqual(before)
  for (const shard of [0, 1])
    await editWhenFree(store.context, shard, REGISTRY_TASK, () => JSON.stringify({ lost: {} }), {})
  expect(await readConsumers(store)).toMatchObject([{ name: 'lost', registeredAt: undefined }])
})

test('a report counts the partitions, processes and failing changes of the registered consumer', async () => {
  await save(0, 1, { changes: [failing(), failing()], process: 'one' })
  await save(1, 1, { changes: [failing()], process: 'one' })
  await save(2, 1, { process: 'two' })
  await save(3, 1, { of: 'dropped', changes: [failing()] })
  await add(0, 4, 'moved', failing(), failing())
  await add(0, 5, 'moved', failing())
  await add(0, 5, 'dead', failing(), failing())
  await add(0, 6, 'dead', failing(), failing())
  expect(await reportOn(0)).toMatchObject({
    error: undefined,
    partitions: 3,
    processes: 2,
    failing: 6,
    deadLetters: 4,
  })
  // A shard that was restored from an older copy does not know the consumer.
  await editWhenFree(store.context, 0, REGISTRY_TASK, () => '', {})
  expect(await reportOn(0)).toMatchObject({ failing: 7 })
  expect(await reportOn(1)).toMatchObject({ partitions: 0, processes: 0, failing: 0, deadLetters: 0 })
})

test('the lag is that of the slowest partition, and that of the registration while one has no record', async () => {
  const { now } = await search.memory.shards[0]!.entities.floor()
  const lag = async (): Promise<number | undefined> => (await reportOn(0)).lagMs
  expect(await lag()).toBeLessThan(3_600_000)
  for (let partition = 0; partition < 8; partition++)
    await save(partition, now - (partition === 3 ? 7_200_000_000 : 0))
  expect(await lag()).toBeGreaterThanOrEqual(7_200_000)
  expect(await lag()).toBeLessThan(7_300_000)
  // Without its record the partition is at the registration.
  const { tasks } = search.memory.shards[0]!
  await tasks.claim(partitionTask('search', 3), 'a test', 60_000)
  await tasks.save(partitionTask('search', 3), 'a test', '', 0)
  expect(await lag()).toBeLessThan(3_600_000)
  await editWhenFree(store.context, 0, REGISTRY_TASK, () => '', {})
  expect(await lag()).toBe(Infinity)
})

test('a shard that does not answer is reported by its error, unless the call was aborted', async () => {
  await save(0, 1, { changes: [failing()], process: 'one' })
  const aborted = new AbortController()
  search.plan = ({ shard, operation }) => (shard === 0 && operation === 'floor' ? gone : undefined)
  expect(await reportOn(0)).toEqual({
    name: 'memory 0',
    error: expect.objectContaining({ code: 'SHARD_UNAVAILABLE' }),
    lagMs: 0,
    partitions: 0,
    processes: 0,
    failing: 0,
    deadLetters: 0,
  })
  search.plan = ({ shard, operation }) =>
    shard === 0 && operation === 'floor' ? { before: () => (aborted.abort(), gone.before!()) } : undefined
  await expect(readConsumers(store, { signal: aborted.signal })).rejects.toMatchObject({
    code: 'SHARD_UNAVAILABLE',
  })
  search.plan = ({ operation }) => {
    if (operation === 'floor') throw new TypeError('a mistake')
    return undefined
  }
  await expect(readConsumers(store)).rejects.toThrow('a mistake')
})

test('dead letters of all partitions are listed by age, and marked and discarded by their ids or together', async () => {
  const [first, second, third] = [failing(1, 3), failing(1, 1), failing(1, 2)]
  await add(0, 1, 'dead', first, second)
  await add(1, 2, 'dead', third)
  await add(0, 1, 'moved', failing())
  const listed = async (): Promise<unknown> =>
    (await readDeadLetters(store, 'search')).map(({ id, isReplayed }) => [id, isReplayed])
  expect(await replayDeadLetters(store, 'search', [first.id])).toBe(1)
  expect(await listed()).toEqual([
    [second.id, false],
    [third.id, false],
    [first.id, true],
  ])
  expect(await replayDeadLetters(store, 'search')).toBe(3)
  expect(await listed()).toEqual([second, third, first].map(({ id }) => [id, true]))
  expect(await discardDeadLetters(store, 'search', [first.id, third.id])).toBe(2)
  expect(await listed()).toEqual([[second.id, true]])
  expect(await discardDeadLetters(store, 'search')).toBe(1)
  const list = await search.memory.shards[0]!.tasks.load(letterTask('search', 1, 'dead'))
  expect(list!.progress).toBe('')
  expect((await readLetters(store.context, 'search', 0, [1], {})).moved.get(1)).toHaveLength(1)
})

test('a letter is found by the same or a later one of its entity', async () => {
  const found = async (list?: LetterList): Promise<readonly EntityId[]> =>
    (
      await foundLetters(
        store.context,
        'search',
        { shard: 0, partition: 1, ...(list && { list }) },
        [older, same, newer, none],
        {},
      )
    ).map(({ id }) => id)
  const [older, same, newer, none] = [failing(1), failing(2), failing(3), failing(1)]
  expect(await found()).toEqual([])
  await add(
    0,
    1,
    'dead',
    ...[older, same, newer].map((change) => ({ ...change, version: 2, passed: { to: 1, at: 1, behind: 1 } })),
  )
  expect(await found()).toEqual([older.id, same.id])
  expect(await found('moved')).toEqual([])
  expect((await readLetters(store.context, 'search', 0, [1], {})).dead.get(1)![0]!.passed).toBeUndefined()
})

type Call = (store: DataStore, consumer: string, ...args: readonly unknown[]) => Promise<unknown>
const calls: readonly (readonly [string, Call])[] = [
  ['readDeadLetters', readDeadLetters as Call],
  [
    'replayDeadLetters',
    (by, consumer, ...args) => replayDeadLetters(by, consumer, undefined, ...(args as [])),
  ],
  [
    'discardDeadLetters',
    (by, consumer, ...args) => discardDeadLetters(by, consumer, undefined, ...(args as [])),
  ],
  ['dropConsumer', dropConsumer as Call],
]

test.each(calls)('%s names the call, and the consumers of the store, in its errors', async (name, call) => {
  await register(store.context, 'ads', { from: 'now' })
  await expect(call(store, 'other')).rejects.toMatchObject({
    code: 'NOT_FOUND',
    message: 'The store has no consumer other; it has ads, search.',
  })
  const refused: readonly (readonly [Promise<unknown>, string])[] = [
    [call({} as DataStore, 'search'), `${name} takes a DataStore`],
    [call(store, 'no spaces'), `${name} takes a name of up to 64`],
    [call(store, 'search', { signals: 1 }), `${name} has no option "signals"; there are signal`],
    [call(store, 'search', { signal: 1 }), `signal of ${name} has to be`],
  ]
  for (const [work, message] of refused)
    await expect(work).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringContaining(message) as string,
    })
  expect((await readConsumers(store)).map((report) => report.name)).toEqual(['ads', 'search'])
})

test.each([
  ['replayDeadLetters', replayDeadLetters],
  ['discardDeadLetters', discardDeadLetters],
] as const)('%s takes an array of ids, and changes nothing otherwise', async (name, call) => {
  const letter = failing()
  await add(0, 1, 'dead', letter)
  await expect(call(store, 'search', letter.id as never)).rejects.toThrow(`${name} takes an array of ids, or`)
  await expect(call(store, 'search', [letter.id, 'none'])).rejects.toThrow(`${name} takes ids; got`)
  expect(await readDeadLetters(store, 'search')).toMatchObject([{ id: letter.id, isReplayed: false }])
})

test('readConsumers names itself in its errors', async () => {
  await expect(readConsumers({} as DataStore)).rejects.toThrow('readConsumers takes a DataStore')
  await expect(readConsumers(store, { signals: 1 } as object)).rejects.toThrow(
    'readConsumers has no option "signals"; there are signal',
  )
})

test('a dropped consumer leaves no letters of any list to the next one of its name', async () => {
  for (const shard of [0, 1])
    for (const list of ['dead', 'moved'] as const) await add(shard, 3, list, failing())
  await dropConsumer(store, 'search')
  for (const shard of [0, 1]) {
    const { dead, moved } = await readLetters(store.context, 'search', shard, [3], {})
    expect([dead.get(3), moved.get(3)]).toEqual([[], []])
  }
})
