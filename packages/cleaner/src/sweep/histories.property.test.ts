import { memoryShards } from '@looseleaf/driver-sqlite'
import fc from 'fast-check'
import { isLong } from '@looseleaf-tooling/vitest/long'
import { expect, test } from 'vitest'
import { dyingDriver } from '../../test/broken-driver.ts'
import { expectedRows, openStore, rowsIn } from '../../test/stores.ts'
import { sweep } from './sweep.ts'

const bag = fc.record(
  {
    user_id: fc.constantFrom('ada', 'bob', 'eve', null),
    published: fc.oneof(fc.integer({ min: 0, max: 3 }), fc.constant('misfit')),
    tags: fc.array(fc.constantFrom('x', 'y', 'z'), { maxLength: 3 }),
  },
  { requiredKeys: [] },
)

const operation = fc.record({
  entity: fc.integer({ min: 0, max: 3 }),
  bag: fc.option(bag, { nil: null }),
  // The process dies after this many calls, if it makes them.
  dieAfter: fc.option(fc.integer({ min: 1, max: 8 }), { nil: undefined }),
  withEffect: fc.boolean(),
  sweepAfter: fc.boolean(),
})

test('after any history of writes and crashes no row is missing, and after a sweep none dangles', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(operation, { minLength: 1, maxLength: 3 }), { maxLength: 6 }),
      async (rounds) => {
        const driver = await memoryShards(2).connect()
        const store = await openStore({ driver })
        const ids = Array.from({ length: 4 }, () => store.newId())
        for (const round of rounds) {
          // The operations of a round run concurrently, each in its own process.
          await Promise.all(
            round.map(async ({ entity, bag: next, dieAfter, withEffect, sweepAfter }) => {
              const mortal = dyingDriver(driver, { withEffect })
              const process = await openStore({
                driver: mortal.driver,
                migrate: false,
                onWarning: () => undefined,
              })
              if (dieAfter !== undefined) mortal.dieAfter(dieAfter)
              const id = ids[entity]!
              try {
                await (next === null ? process.delete(id) : process.put(next, { id }))
                await process.settled()
                if (sweepAfter) await sweep(process, { graceMs: 0 })
              } catch (error) {
                if (!mortal.isDead) throw error
              }
            }),
          )
          for (const name of ['by_user', 'by_tag']) {
            const rows = new Set(await rowsIn(store, name))
            for (const row of await expectedRows(store, name)) expect(rows).toContain(row)
          }
        }
        await sweep(store, { graceMs: 0 })
        for (const name of ['by_user', 'by_tag']) {
          expect(await rowsIn(store, name)).toEqual(await expectedRows(store, name))
        }
        await driver.close()
      },
    ),
    // A long run tries more histories.
    { numRuns: isLong ? 50 : 20 },
  )
})
