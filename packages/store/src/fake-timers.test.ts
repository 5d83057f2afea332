import { mock } from 'node:test'
import { systemTime } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { afterEach, expect, test, vi } from 'vitest'
import { DataStore } from './data-store.ts'

const byUser = defineIndex('by_user', { properties: { user: 'string' }, shardOn: 'user' })

afterEach(() => {
  vi.useRealTimers()
  mock.timers.reset()
})

/** Install fake timers and clocks of a library, which stand still. */
const fakes: Readonly<Record<string, () => void>> = {
  'of Vitest, Jest and Sinon': () => void vi.useFakeTimers({ now: 0 }),
  'of Node': () =>
    mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'setImmediate', 'Date'], now: 0 }),
}

test.each(Object.entries(fakes))(
  'a store writes, reads and closes under fake timers %s, with versions of the real clock',
  async (_, install) => {
    const began = systemTime.now()
    install()
    expect(Date.now()).toBe(0)
    const store = await DataStore.open({ shards: memoryShards(2), indexes: [byUser], migrate: true })
    const written = await Promise.all([1, 2, 3].map((n) => store.put({ user: 'ann', n })))
    expect(written.every(({ version }) => version >= began * 1_000)).toBe(true)
    expect((await store.query(byUser, { user: 'ann' })).items).toHaveLength(3)
    await store.close()
  },
)
