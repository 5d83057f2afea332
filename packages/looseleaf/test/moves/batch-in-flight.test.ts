import { randomBytes } from 'node:crypto'
import { LooseleafError, parseId } from '@looseleaf/core'
import {
  clearTarget,
  come,
  copyEntities,
  entitiesIn,
  leave,
  placeAt,
  type Copied,
} from '@looseleaf/protocol/internal'
import type { FaultPlan } from '@looseleaf/testkit'
import { until } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { announcedMove, BUCKETS, UNKNOWN } from './announced-move.ts'
import { openStore } from './stores.ts'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Copies three entities, each by a batch of its own. */
async function copyThree(plan: FaultPlan, onPage?: () => Promise<void>): Promise<Copied> {
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
  return copyEntities(work, range, target, onPage)
}

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
  let isOver = false
  const copying = copyThree(plan).finally(() => (isOver = true))
  const failure = copying.catch((error: unknown) => error)
  await until(() => isFailed)
  for (let turns = 0; turns < 20; turns++) await turn()
  expect(isOver).toBe(false)
  answered.resolve()
  expect(await failure).toMatchObject({ message: 'The source is gone.' })
})

test('batches are written one after the other, and the last one before the copy resolves', async () => {
  let written = 0
  let overlaps = 0
  let isSent = false
  let isReporting = false
  const plan: FaultPlan = ({ operation }) => {
    if (operation !== 'receive') return undefined
    return {
      async before() {
        if (isSent) overlaps++
        isSent = true
        for (let turns = 0; turns < 20; turns++) await turn()
      },
      after() {
        isSent = false
        written++
      },
    }
  }
  const onPage = async (): Promise<void> => {
    isReporting = true
    for (let turns = 0; turns < 3; turns++) await turn()
    isReporting = false
  }
  expect(await copyThree(plan, onPage)).toEqual({ copied: 3 })
  // An assertion in the fault would reject the copy, which may swallow that.
  expect(overlaps).toBe(0)
  expect([written, isSent, isReporting]).toEqual([3, false, false])
})

test('a copy whose last batch fails rejects', async () => {
  const denied = new LooseleafError('SHARD_DENIED', 'The server denies it.')
  let sent = 0
  const plan: FaultPlan = ({ operation }) =>
    operation === 'receive' && ++sent === 3 ? { before: () => Promise.reject(denied) } : undefined
  await expect(copyThree(plan)).rejects.toBe(denied)
})
