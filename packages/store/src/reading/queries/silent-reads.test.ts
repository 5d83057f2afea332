import { tableName } from '@looseleaf/index-engine/internal'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { byRank, nameOf, numbers, openLossyStore, skip, type LossyStore } from '../../../test/lossy-store.ts'
import type { DataStore } from '../../data-store.ts'

let lossy: LossyStore
let store: DataStore
let fill: LossyStore['fill']

beforeEach(async () => {
  lossy = await openLossyStore()
  ;({ store, fill } = lossy)
})
afterEach(() => lossy[Symbol.asyncDispose]())

describe('a shard that is silent', () => {
  test('the first skipping reads wait for it shortly, and later ones send nothing to it until it answers', async () => {
    const made = await fill()
    const answer = lossy.silence(1)
    const began = performance.now()
    const read = async (): Promise<void> => {
      const page = await store.query(byRank, {}, { scatter: true, ...skip })
      expect(page.cost.missingShards).toEqual([nameOf(1)])
    }
    await Promise.all([read(), read(), store.getMany([made[1]!.id], skip)])
    // Far below the deadline of a statement, 10 seconds, even on a busy machine.
    expect(performance.now() - began).toBeLessThan(5_000)
    lossy.sent.length = 0
    await read()
    expect((await store.getMany([made[1]!.id], skip)).unread).toEqual([made[1]!.id])
    expect((await store.count(byRank, {}, { scatter: true, ...skip })).complete).toBe(false)
    expect(lossy.sent.filter((call) => call.startsWith('1 ') && call !== '1 shard now')).toEqual([])
    answer()
    for (let isWhole = false; !isWhole;) {
      isWhole = (await store.query(byRank, {}, { scatter: true, ...skip })).cost.complete
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  })

  test('a slow statement is waited for while the shard answers others', async () => {
    const made = await fill()
    const { promise, resolve } = Promise.withResolvers<void>()
    lossy.fail(({ shard, table }) =>
      shard === 1 && table === tableName(byRank, 1) ? { before: () => promise } : undefined,
    )
    const page = store.query(byRank, {}, { scatter: true, ...skip })
    // Signs of life are asked for twice meanwhile.
    while (lossy.sent.filter((call) => call === '1 shard now').length < 2)
      await new Promise((again) => setTimeout(again, 5))
    resolve()
    const { items, cost } = await page
    expect([numbers(items), cost.complete]).toEqual([made.map(({ n }) => n), true])
  })

  test('a database in this process is waited for, because it has no server that could be silent', async () => {
    await using embedded = await openLossyStore({}, { hasPool: false })
    const made = await embedded.fill()
    const answer = embedded.silence(1)
    const read = embedded.store.getMany([made[1]!.id], skip)
    // Longer than the whole wait for a server.
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    answer()
    expect((await read).complete).toBe(true)
  })

  test('a call without the option still waits for the silent shard', async () => {
    const made = await fill()
    const answer = lossy.silence(1)
    await store.getMany([made[1]!.id], skip)
    const waiting = store.get(made[1]!.id)
    expect(await Promise.race([waiting, store.getMany([made[1]!.id], skip)])).toMatchObject({
      complete: false,
    })
    answer()
    expect((await waiting)?.['n']).toBe(1)
  })
})
