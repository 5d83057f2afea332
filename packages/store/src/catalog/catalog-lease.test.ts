import { LooseleafError } from '@looseleaf/core'
import { defineIndex } from '@looseleaf/index-engine'
import { createReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { faultyDriver, keepOpen } from '@looseleaf/testkit'
import { expect, it } from 'vitest'
import { DataStore } from '../data-store.ts'

const byUser = defineIndex('by_user', { properties: { user: 'string' }, shardOn: 'user' })
const byLink = defineIndex('by_link', { properties: { link: 'string' }, shardOn: 'link' })

const MINUTE = 60_000

it.each([
  ['ahead', 120 * MINUTE],
  ['behind', -120 * MINUTE],
])(
  'a lease of a dead process, claimed while the server clock was two hours %s, delays no index once the clock is right',
  async (_, offMs) => {
    const start = Date.now()
    let clockMs = start + offMs
    const driver = createReferenceDriver({ shards: 2, now: () => clockMs * 1_000 })
    let slept = 0
    const time = {
      now: () => Date.now(),
      elapsed: () => slept,
      sleep: async (ms: number) => void ((slept += ms), (clockMs += ms)),
    }
    const open = (options: object) => DataStore.open({ shards: keepOpen(driver), time, ...options })
    const store = await open({ migrate: true })
    await driver.shards[0]!.tasks.claim('catalog', 'of a dead process', MINUTE)
    clockMs = start
    await store.addIndex(byUser)
    await open({ migrate: true, indexes: [byUser, byLink] })
    expect((await store.indexes()).map(({ name }) => name)).toContain('by_user')
    expect(slept).toBeLessThan(MINUTE)
  },
)

it('an addition that is aborted after a claim without an answer leaves no lease to others', async () => {
  const reference = createReferenceDriver({ shards: 2 })
  const ended = new AbortController()
  const driver = faultyDriver(reference, ({ table, operation, args }) =>
    table === 'tasks' && operation === 'claim' && args[0] === 'catalog'
      ? {
          after: () => {
            ended.abort()
            throw new LooseleafError('SHARD_UNAVAILABLE', 'The answer is lost.', { unknownOutcome: true })
          },
        }
      : undefined,
  )
  const store = await DataStore.open({ shards: keepOpen(driver), migrate: true })
  await expect(store.addIndex(byUser, { signal: ended.signal })).rejects.toMatchObject({ code: 'ABORTED' })
  expect(await reference.shards[0]!.tasks.load('catalog')).toMatchObject({ owner: undefined })
  await store.close()
})
