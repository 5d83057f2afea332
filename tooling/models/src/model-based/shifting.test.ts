import { deepStrictEqual } from 'node:assert/strict'
import { tunedCheckIndex } from '@looseleaf/cleaner/internal'
import { arbitraryBag } from '@looseleaf-tooling/kit/arbitrary-bag'
import { isLooseleafError, type Bag } from '@looseleaf/core'
import { DataStore } from '@looseleaf/store'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { memoryBackend } from './backend.ts'
import { baseIndexes } from './indexes.ts'
import { assertReplayable } from './replay.ts'
import { propertySettings, testTimeout } from './settings.ts'
import { shiftingBag, type Guise } from './shifting.ts'
import { bags } from './values.ts'

const guises: readonly Guise[] = ['getters', 'proxy']

/** Indexed properties and any others. */
const versions = fc.array(
  fc.tuple(bags, arbitraryBag).map(([bag, more]): Bag => ({ other: { ...more }, ...bag })),
  { minLength: 1, maxLength: 4 },
)

test(
  'bags that answer differently on each read are indexed as they are stored',
  async () => {
    let stored = 0
    const property = fc.asyncProperty(versions, fc.constantFrom(...guises), async (choices, guise) => {
      const { shards, drop } = await memoryBackend.create(2)
      const store = await DataStore.open({ shards, indexes: baseIndexes, migrate: true })
      const bag = (): Bag => shiftingBag(choices, guise)
      try {
        const id = store.newId()
        await orRefused(() => store.put(bag(), { id }))
        await orRefused(() => store.put(bag(), { id }))
        await orRefused(() => store.update(id, bag))
        await orRefused(() => store.insert(bag()))
        await store.putMany([bag(), bag()], { fates: true })
        await store.settled()
        for await (const entity of store.scan()) {
          stored++
          deepStrictEqual(await store.get(entity.id), entity)
        }
        for (const { name } of baseIndexes) {
          const { missing, misplaced, undecodable } = await tunedCheckIndex(store, name, { settleMs: 0 })
          expect({ name, missing, misplaced, undecodable }).toEqual({
            name,
            missing: 0,
            misplaced: 0,
            undecodable: 0,
          })
        }
      } finally {
        await store.close()
        await drop()
      }
    })
    await assertReplayable(property, propertySettings(60), 'src/model-based/shifting.test.ts')
    expect(stored).toBeGreaterThan(20)
  },
  testTimeout(),
)

test('a shifting bag gives no answer twice', () => {
  for (const guise of guises) {
    const bag = shiftingBag([{ s: 'a', list: [1, 2], at: new Date(5) }, { s: 'b' }], guise)
    expect([bag['s'], bag['s'], bag['s']]).toEqual(['a', 'b', 'a'])
    const list = (bag['list'] ?? bag['list']) as readonly number[]
    const first = list[0]
    expect(list[0]).not.toBe(first)
  }
})

/** A mixture of several bags may not fit an index; that refusal is expected. */
async function orRefused(write: () => Promise<unknown>): Promise<void> {
  try {
    await write()
  } catch (error) {
    const codes = ['BAD_INDEX_VALUE', 'NOT_FOUND'] as const
    if (!codes.some((code) => isLooseleafError(error, code))) throw error
  }
}
