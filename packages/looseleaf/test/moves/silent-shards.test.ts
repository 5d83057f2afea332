import { isLooseleafError, parseId } from '@looseleaf/core'
import type { ShardCatalog } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { moveBuckets, movesOf, resumeMoves } from '@looseleaf/mover/internal'
import { entitiesIn } from '@looseleaf/protocol/internal'
import { faultyDriver } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { isLong } from '@looseleaf-tooling/vitest/long'
import { expect, test } from 'vitest'
import { checkSwept, contentsOf, filledStore, openStore, SOME_BUCKETS } from './stores.ts'

const plan = { from: 0, to: 1, buckets: SOME_BUCKETS }
const tuning = { groups: 2, checkpointMs: 0, leaseMs: 1 }
/**
 * Calls of a mover after its first seal, by their operation and its turn: the copy, the commit at the source and the begin at the target; in the
 * long form also the calls around them. A count of all calls would not do, because a mover also saves its progress from time to time.
 */
const CALLS: readonly (readonly [operation: string, turn: number])[] = [
  ['receive', 1],
  ['change', 1],
  ['change', 2],
  ...(isLong
    ? ([
        ['page', 1],
        ['pageOfChanges', 1],
        ['flush', 1],
        ['pageOfChanges', 2],
        ['checksums', 1],
        ['save', 1],
      ] as const)
    : []),
]

test.each([
  ['makes', true],
  ['gets', false],
])(
  'writes go on and another mover ends the move while a shard that has accepted a call under the seal does not answer, and later %s it',
  async (_, isLate) => {
    const operations = new Set<string>()
    for (const [silent, turn] of CALLS) {
      const driver = await memoryShards(2).connect()
      const writer = await filledStore(driver, 40)
      const isIn = entitiesIn(writer.context, SOME_BUCKETS)
      const ids = [...(await contentsOf(writer)).keys()].filter((id) => isIn(parseId(id)))
      const update = (rank: number): Promise<unknown> =>
        Promise.all(ids.map((id) => writer.update(id, (bag) => ({ ...bag, rank }))))
      const answer = Promise.withResolvers<void>()
      const accepted = Promise.withResolvers<void>()
      let isSealed = false
      let turns = 0
      const wait = (): Promise<void> => {
        accepted.resolve()
        return answer.promise
      }
      const mover = await openStore(
        faultyDriver(driver, ({ operation, args: [catalog] }) => {
          const { serves } = (operation === 'change' ? catalog : {}) as Partial<ShardCatalog>
          if (serves?.leaving?.[0]?.sealed !== undefined && !isSealed) {
            isSealed = true
            // The last copy has something to do then.
            return { before: async () => void (await update(899)) }
          }
          if (!isSealed || operation !== silent || ++turns !== turn) return undefined
          operations.add(operation)
          return isLate ? { before: wait } : { after: wait }
        }),
        leapingTime(),
      )
      const moving = moveBuckets(mover, plan, tuning).catch((error: unknown) => error)
      await accepted.promise
      await update(900)
      for (const id of ids) expect(await writer.get(id)).toMatchObject({ rank: 900 })
      const other = await openStore(driver, leapingTime())
      expect(await resumeMoves(other, tuning)).toMatchObject([{ state: 'done' }])
      await update(901)
      answer.resolve()
      const result = await moving
      if (!isLooseleafError(result)) expect(result).toMatchObject({ state: 'done' })
      await writer.close()

      const fresh = await openStore(driver, leapingTime())
      for (const id of ids) expect(await fresh.get(id)).toMatchObject({ rank: 901 })
      expect(await movesOf(fresh)).toEqual([])
      await checkSwept(fresh)
      await driver.close()
    }
    expect([...operations]).toEqual(expect.arrayContaining(['change', 'receive']))
  },
)
