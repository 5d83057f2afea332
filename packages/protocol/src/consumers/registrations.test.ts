import { LooseleafError } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { expect, test } from 'vitest'
import {
  joinedRegistry,
  latestRegistration,
  readRegistries,
  readRegistry,
  registrationIn,
  registryFromText,
  registryToText,
  type Registration,
  type Registry,
} from './registrations.ts'

const registered = (incarnation: string, at: number, floors: readonly number[] = []): Registration => ({
  incarnation,
  at,
  kinds: undefined,
  begun: [at],
  floors,
})
const registryOf = (...entries: (readonly [string, Registration])[]): Registry => new Map(entries)
const names = (registry: Registry): string[] => [...registry.keys()]

/** A store whose shards answer with these texts or errors; undefined for a shard without consumers. */
function storeOf(answers: readonly (string | Error | undefined)[], removed?: number) {
  const asked: unknown[] = []
  const shards = answers.map((answer) => ({
    tasks: {
      async load(...args: unknown[]) {
        asked.push(args)
        if (answer instanceof Error) throw answer
        return answer === undefined ? undefined : { progress: answer, owner: undefined }
      },
    },
  }))
  const driver = { shards, removed: removed === undefined ? undefined : new Set([removed]) }
  return { context: { driver } as unknown as EngineContext, asked }
}

test('a registry is stored as text', () => {
  const registry = registryOf(
    ['mail', { incarnation: 'a', at: 5, kinds: ['user', 'post'], begun: [1, 2], floors: [3, 4] }],
    ['search', registered('b', 6)],
  )
  expect(registryFromText(registryToText(registry))).toEqual(registry)
})

test.each(['', 'no record', '7', '[]'])('the text %j has no consumers', (text) => {
  expect(registryFromText(text).size).toBe(0)
})

test('parts of a registration that cannot be read count as absent', () => {
  const text = '{"mail": {"kinds": ["user", 7], "begun": [3, "x"], "at": -1}, "search": 8}'
  expect(Object.fromEntries(registryFromText(text))).toEqual({
    mail: { incarnation: '', at: 0, kinds: ['user'], begun: [3, 0], floors: [] },
    search: { incarnation: '', at: 0, kinds: undefined, begun: [], floors: [] },
  })
})

test('the latest registration counts, or of one incarnation that with floors', () => {
  const [early, late, complete] = [registered('a', 5, [1, 2]), registered('b', 6), registered('b', 6, [3])]
  for (const order of [
    [early, late, complete],
    [complete, late, early],
    [late, complete, early],
  ])
    expect(latestRegistration(order)).toBe(complete)
  expect(latestRegistration([])).toBeUndefined()
})

test('a consumer that any shard knows is registered', () => {
  const registries = [
    registryOf(['mail', registered('a', 5)]),
    registryOf(['mail', registered('b', 6)], ['search', registered('c', 7)]),
    registryOf(),
  ]
  expect(joinedRegistry(registries)).toEqual(
    registryOf(['mail', registered('b', 6)], ['search', registered('c', 7)]),
  )
  expect(registrationIn(registries, 'search')?.incarnation).toBe('c')
  expect(registrationIn(registries, 'other')).toBeUndefined()
})

test('a shard on which no consumer was registered has an empty registry', async () => {
  const options = { signal: new AbortController().signal }
  const { context, asked } = storeOf([undefined, registryToText(registryOf(['mail', registered('a', 5)]))])
  expect(await readRegistry(context, 0, options)).toEqual(registryOf())
  expect(names(await readRegistry(context, 1, options))).toEqual(['mail'])
  expect(asked).toEqual([
    ['consumers', options],
    ['consumers', options],
  ])
})

const [first, second] = ['a', 'b'].map((shard) => new LooseleafError('DEADLINE', 'Slow.', { shard }))
const text = (name: string): string => registryToText(registryOf([name, registered(name, 5)]))

test('registries are read from the shards that answer, with the first error of the others', async () => {
  const all = await readRegistries(storeOf([text('mail'), text('search'), text('gone')], 2).context, {})
  expect(all.registries.map(names)).toEqual([['mail'], ['search']])
  expect(all.failure).toBeUndefined()
  const some = await readRegistries(storeOf([first, text('mail'), second]).context, {})
  expect(some.registries.map(names)).toEqual([['mail']])
  expect(some.failure).toBe(first)
})

test('registries cannot be read if no shard answers, or by a mistake', async () => {
  await expect(readRegistries(storeOf([first, second]).context, {})).rejects.toBe(first)
  const mistake = new TypeError('a mistake')
  await expect(readRegistries(storeOf([text('mail'), mistake]).context, {})).rejects.toBe(mistake)
})
