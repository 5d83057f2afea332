import { isLooseleafError } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { describe, expect, test } from 'vitest'
import { dyingDriver } from '../../test/broken-driver.ts'
import { expectedRows, openStore, rowsIn } from '../../test/stores.ts'
import { sweep } from './sweep.ts'

const before = { user_id: 'ada', published: 1, tags: ['x', 'y'] }
const after = { user_id: 'bob', published: 2, tags: ['y', 'z'] }

/** Calls of a writer, at each statement of which it may die. */
const writes = {
  create: (store, id) => store.put(after, { id }),
  change: (store, id) => store.put(after, { id }),
  delete: (store, id) => store.delete(id),
} as const satisfies Record<
  string,
  (store: Awaited<ReturnType<typeof openStore>>, id: string) => Promise<unknown>
>

describe.each(Object.keys(writes) as (keyof typeof writes)[])('a writer that dies during a %s', (kind) => {
  test.each([true, false])(
    'a dying writer leaves no row missing at any step, and none dangling after a sweep (its last call took effect: %s)',
    async (withEffect) => {
      let hasDied = true
      for (let dieAt = 1; hasDied; dieAt++) {
        const driver = await memoryShards(2).connect()
        const store = await openStore({ driver })
        const id = store.newId()
        if (kind !== 'create') await store.put(before, { id })

        const mortal = dyingDriver(driver, { withEffect })
        const dying = await openStore({ driver: mortal.driver, onWarning: () => undefined })
        mortal.dieAfter(dieAt)
        hasDied = await diesIn(async () => {
          await writes[kind](dying, id)
          await dying.settled()
        })
        hasDied ||= mortal.isDead

        const rows = new Set(await rowsIn(store, 'by_user'))
        const tags = new Set(await rowsIn(store, 'by_tag'))
        for (const row of await expectedRows(store, 'by_user')) expect(rows).toContain(row)
        for (const row of await expectedRows(store, 'by_tag')) expect(tags).toContain(row)
        await sweep(store, { graceMs: 0 })
        expect(await rowsIn(store, 'by_user')).toEqual(await expectedRows(store, 'by_user'))
        expect(await rowsIn(store, 'by_tag')).toEqual(await expectedRows(store, 'by_tag'))
        if (!hasDied) expect(dieAt).toBeGreaterThan(3)
      }
    },
  )
})

async function diesIn(work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work()
    return false
  } catch (error) {
    if (isLooseleafError(error)) return true
    throw error
  }
}
