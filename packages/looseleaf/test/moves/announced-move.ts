import type { Driver, Time } from '@looseleaf/core'
import type { LayoutMove, ShardServes } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { changeCatalogContents, changeServes, loadShardCatalog } from '@looseleaf/index-engine/internal'
import {
  announceMove,
  come,
  createThrottle,
  leave,
  loadOwn,
  type Attempt,
  type MoveWork,
} from '@looseleaf/protocol/internal'
import { faultyDriver, type FaultPlan } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, onTestFinished } from 'vitest'
import { openStore } from './stores.ts'

/** Buckets of shard 0, which an announced move brings to shard 1. */
export const BUCKETS = '0-9'
/** The buckets of each of the three shards. */
export const OWNED = ['0-1365', '1366-2730', '2731-4095'] as const
/** State of a target of which nothing is known. */
export const UNKNOWN = { attempt: 0, last: undefined }

/** A store of three shards with an announced move, whose steps a test makes one by one. */
export interface AnnouncedMove {
  readonly driver: Driver
  readonly work: MoveWork
  servesOf(shard: number): Promise<ShardServes>
  epochOf(shard: number): Promise<number>
  /** Replaces the records of a shard, as another process does. */
  setServes(shard: number, serves: ShardServes): Promise<void>
  /** Replaces the announced moves on all shards. */
  setMoves(moves: readonly LayoutMove[]): Promise<void>
  /** Begins an attempt on both shards. */
  begin(): Promise<Attempt>
}

/** The plan has the faults of the calls of `work`, and the time its waits. */
export async function announcedMove(
  plan: FaultPlan = () => undefined,
  time: Time = leapingTime(),
): Promise<AnnouncedMove> {
  const driver = await memoryShards(3).connect()
  const store = await openStore(faultyDriver(driver, plan), time)
  onTestFinished(async () => {
    await store.close()
    await driver.close()
  })
  const { context } = store
  const move = await announceMove(context, { from: 0, to: 1, buckets: BUCKETS })
  const work = { context, move, throttle: createThrottle(context.time, undefined), signal: undefined }
  return {
    driver,
    work,
    servesOf: async (number) => (await loadOwn(context, number, {})).serves,
    epochOf: async (number) => (await loadOwn(context, number, {})).catalog.epoch,
    async setServes(number, serves) {
      const shard = driver.shards[number]!
      await changeServes(shard, (await loadShardCatalog(shard))!, serves)
    },
    async setMoves(moves) {
      await changeCatalogContents(driver, ({ layout, ...contents }) => ({
        ...contents,
        layout: { ...layout!, revision: layout!.revision + 1, moves },
      }))
    },
    async begin() {
      const attempt = (await leave(work))!
      expect(await come(work, attempt, UNKNOWN)).toBeDefined()
      return attempt
    },
  }
}

/** Matches the error of a step of an earlier attempt than the last one. */
export const TAKEN_OVER = {
  code: 'STALE_EPOCH',
  message:
    'Move 1: another process has begun a later attempt, or has ended this one. The process with the lease of the move goes on by a new attempt.',
}

/** Matches the error of a step whose move has ended. */
export const endedFor = (reason: string): object => ({
  code: 'CONFLICT',
  message: `Move 1 cannot go on here: ${reason}.`,
})
