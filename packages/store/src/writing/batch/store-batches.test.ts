import { formatId, type CallOptions } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { DataStore } from '../../data-store.ts'
import type { EntityCache } from '../../reading/freshness/entity-cache.ts'
import type { WriteOutcome } from '../entity-writer.ts'
import { createStoreBatches } from './store-batches.ts'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Returns the work of batches whose steps are noted in `steps`, and the gates that hold them. */
async function open({ isFull = false, fails = false, isCached = true } = {}) {
  const store = await DataStore.open({ shards: memoryShards(1), migrate: true })
  onTestFinished(() => store.close())
  const steps: string[] = []
  const [room, forgotten] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const found = { version: 7, bag: undefined, damaged: undefined, body: null }
  const outcomeOf = (written: boolean): WriteOutcome => ({ found, written, version: 8, indexed: true })
  const writer = {
    async write() {
      steps.push('write')
      if (fails) throw new Error('on purpose')
      return [outcomeOf(true), outcomeOf(false)]
    },
  }
  const bodies = { written: () => void steps.push('written') }
  const cache = {
    async forget(id: Uint8Array) {
      steps.push(`forget ${formatId(id)}`)
      // The second entity takes longer.
      if (formatId(id) === b) await forgotten.promise
    },
  } as EntityCache
  const take = createStoreBatches(
    { ...store.context, bodies: { ...store.context.bodies, ...bodies } },
    writer,
    { isFull, room: () => room.promise },
    isCached ? cache : undefined,
    { sessionToken: () => 'token' },
  )
  const a = store.newId()
  const b = store.newId({ near: a })
  const work = take([{ put: {}, id: a }, { delete: b }], {} as CallOptions)
  return { steps, room, forgotten, work, a, b }
}

test('a batch resolves once the cache has forgotten all of its entities, and counts the bodies that it has written', async () => {
  const { steps, forgotten, work, a, b } = await open()
  let results: readonly unknown[] | undefined
  const writing = work().then((found) => (results = found))
  await turn()
  expect(steps).toEqual(['write', 'written', `forget ${a}`, `forget ${b}`])
  expect(results).toBeUndefined()
  forgotten.resolve()
  await writing
  expect(results).toEqual([{ id: a, version: 8, created: true, indexed: true, token: 'token' }, false])
})

test('the cache forgets the entities of a batch that fails, which may have been written', async () => {
  const { steps, forgotten, work } = await open({ fails: true })
  forgotten.resolve()
  await expect(work()).rejects.toThrow('on purpose')
  expect(steps).toHaveLength(3)
})

test('a batch waits for room while too many rows are being deleted', async () => {
  const { steps, room, work } = await open({ isFull: true, isCached: false })
  const writing = work()
  await turn()
  expect(steps).toEqual([])
  room.resolve()
  expect(await writing).toHaveLength(2)
})
