import { randomBytes } from 'node:crypto'
import { parseId } from '@looseleaf/core'
import { clearTarget, come, copyEntities, entitiesIn, leave, placeAt } from '@looseleaf/protocol/internal'
import type { FaultPlan } from '@looseleaf/testkit'
import { until } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { announcedMove, BUCKETS, UNKNOWN } from './announced-move.ts'
import { openStore } from './stores.ts'

test('a copy whose next rows cannot be read rejects after the batch in flight', async () => {
  const answered = Promise.withResolvers<void>()
  let isSent = false
  let isFailed = false
  const plan: FaultPlan = ({ shard, operation, table }) => {
    if (operation === 'receive') {
      isSent = true
      return { before: () => answered.promise }
    }
    if (!isSent || shard !== 0 || table !== 'entities' || operation !== 'read') return undefined
    isFailed = true
    return { before: () => Promise.reject(new Error('The source is gone.')) }
  }
  const { driver, work } = await announcedMove(plan)
  const writer = await openStore(driver)
  const isIn = entitiesIn(writer.context, BUCKETS)
  // Too long for a page, and for one batch together.
  const text = randomBytes(3 * 1024 * 1024).toString('base64')
  for (let count = 0; count < 3;) {
    const id = writer.newId()
    if (!isIn(parseId(id))) continue
    await writer.put({ text }, { id })
    count++
  }
  await writer.close()
  const attempt = (await leave(work))!
  const begun = (await come(work, attempt, UNKNOWN))!
  const target = { ...(await clearTarget(work, attempt, begun))!, chain: { last: undefined } }
  const range = {
    after: placeAt(0),
    until: await driver.shards[0]!.entities.raiseFloor(),
    buckets: BUCKETS,
  }
  let isOver = false
  const copying = copyEntities(work, range, target).finally(() => (isOver = true))
  const failure = copying.catch((error: unknown) => error)
  await until(() => isFailed)
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
  expect(isOver).toBe(false)
  answered.resolve()
  expect(await failure).toMatchObject({ message: 'The source is gone.' })
})
