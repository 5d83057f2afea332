import { LooseleafError } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { expect, test } from 'vitest'
import {
  consumerPlaces,
  consumersOn,
  letterTask,
  PARTITIONS,
  partitionTask,
  readProgress,
} from './consumer-progress.ts'
import { REGISTRY_TASK, registryToText, type Registration } from './registrations.ts'

const registered = (incarnation: string, begun: number[], floors: number[]): Registration => ({
  incarnation,
  at: 1,
  begun,
  floors,
})
const MAIL = registered('a', [10, 20], [3, 4])
const options = { signal: new AbortController().signal }

/** A store of two shards with these texts of tasks; the first one has the registry. */
function storeOf(registry: Readonly<Record<string, Registration>>, texts: Readonly<Record<string, string>>) {
  const asked: (readonly string[])[] = []
  const tasksOf = (number: number): object => ({
    async load(task: string, given: unknown) {
      expect([task, given]).toEqual([REGISTRY_TASK, options])
      return number === 0 ? { progress: registryToText(new Map(Object.entries(registry))) } : undefined
    },
    async loadAll(names: readonly string[], given: unknown) {
      expect(given).toBe(options)
      asked.push(names)
      const found = names.filter((name) => number === 1 && texts[name] !== undefined)
      return new Map(found.map((name) => [name, { progress: texts[name] }]))
    },
  })
  const shards = [{ tasks: tasksOf(0) }, { tasks: tasksOf(1) }]
  return { context: { driver: { shards } } as unknown as EngineContext, asked, shards }
}

const saved = (updated: number, since: number, more: object = {}): string =>
  JSON.stringify({ incarnation: 'a', updated, since, ...more })

/** The progress of the eight partitions of `mail` on shard 1. */
const TEXTS = {
  [partitionTask('mail', 0)]: saved(50, 40, {
    failing: [{ id: 'x', passed: { behind: 7 } }, { id: 'y' }, { id: 8 }, null],
  }),
  [partitionTask('mail', 1)]: saved(30, 60, { failing: 'none' }),
  [partitionTask('mail', 2)]: 'no record',
  [partitionTask('mail', 3)]: saved(70, 70).replace('"a"', '"former"'),
}

test('a partition has its saved progress, or the beginning of its consumer', async () => {
  const { context, asked } = storeOf({}, TEXTS)
  const progress = await readProgress(context, 1, new Map([['mail', MAIL]]), options)
  const atBeginning = { updated: 20, since: 4 }
  expect(progress.get('mail')).toEqual({
    partitions: [
      { updated: 50, since: 40 },
      { updated: 30, since: 60 },
      ...Array.from({ length: PARTITIONS - 2 }, () => atBeginning),
    ],
    failing: [
      { id: 'x', passedBehind: 7 },
      { id: 'y', passedBehind: 0 },
    ],
  })
  expect(asked).toHaveLength(1)
  expect(asked[0]).toContain('consume/mail/7')
})

test('a shard that joined after a consumer begins at 0', async () => {
  const late = registered('a', [10], [3])
  const progress = await readProgress(storeOf({}, {}).context, 1, new Map([['mail', late]]), options)
  expect(new Set(progress.get('mail')!.partitions.map((each) => Object.values(each).join()))).toEqual(
    new Set(['0,0']),
  )
})

test('no consumers need no statement', async () => {
  const { context, asked } = storeOf({}, {})
  expect((await readProgress(context, 1, new Map(), options)).size).toBe(0)
  expect(asked).toEqual([])
})

test('the place of a consumer is that of its last partition, and not before its floor', async () => {
  const others = Array.from({ length: PARTITIONS - 2 }, (_, i) => [
    partitionTask('mail', i + 2),
    saved(55, 5),
  ])
  const texts = { ...TEXTS, ...Object.fromEntries(others) }
  expect(await consumerPlaces(storeOf({ mail: MAIL }, texts).context, 1, options)).toEqual(
    new Map([['mail', 50]]),
  )
  expect(await consumerPlaces(storeOf({ mail: MAIL }, TEXTS).context, 1, options)).toEqual(
    new Map([['mail', 20]]),
  )
})

test('the records of a consumer are counted on one shard', async () => {
  const letters = (...ids: string[]): string => JSON.stringify({ letters: ids })
  const { context, asked } = storeOf(
    { mail: MAIL },
    {
      ...TEXTS,
      [letterTask('mail', 0, 'dead')]: letters('p', 'q'),
      [letterTask('mail', 7, 'dead')]: letters('r'),
      [letterTask('mail', 1, 'moved')]: letters('s'),
      [letterTask('mail', 2, 'moved')]: 'no record',
      [letterTask('mail', 3, 'moved')]: '{"letters": 5}',
    },
  )
  expect(await consumersOn(context, 1, options)).toEqual([
    { name: 'mail', place: 20, failing: 3, deadLetters: 3 },
  ])
  expect(asked.flat()).toEqual(expect.arrayContaining(['consume/mail/7/dead', 'consume/mail/0/moved']))
})

test('consumers are unknown while a shard does not answer', async () => {
  const { context, shards } = storeOf({ mail: MAIL }, TEXTS)
  const down = new LooseleafError('DEADLINE', 'Slow.', { shard: 'one' })
  Object.assign(shards[1]!.tasks, { load: () => Promise.reject(down) })
  await expect(consumerPlaces(context, 1, options)).rejects.toBe(down)
  await expect(consumersOn(context, 1, options)).rejects.toBe(down)
})
