import type { Driver } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { keptRowsMs } from '@looseleaf/index-engine/internal'
import { DataStore } from '@looseleaf/store'
import { faultyDriver } from '@looseleaf/testkit'
import { expect, test } from 'vitest'
import { addRow, byUser, expectedRows, rowFor, rowsIn, shared } from '../../test/stores.ts'
import { steppedTime, type SteppedTime } from '@looseleaf-tooling/kit/times'
import { cleanableIndexes, indexTarget } from '../pass/index-target.ts'
import { createPass } from '../pass/pass.ts'
import { createTail } from './tail.ts'

const STEP_MS = 100

/** Number of statements with which a process deletes index rows. */
interface Sent {
  deletes: number
  flushes: number
}

interface World {
  readonly time: SteppedTime
  readonly writer: DataStore
  readonly byWriter: Sent
  readonly byTail: Sent
  /** Runs one round of the tail, in another process. Returns the number of deleted rows. */
  round(): Promise<number>
}

async function openWorld(): Promise<World> {
  const driver = await memoryShards(1).connect()
  const time = steppedTime()
  const open = async (sent: Sent): Promise<DataStore> =>
    DataStore.open({ shards: shared(counting(driver, sent)), indexes: [byUser], migrate: true, time })
  const byWriter = { deletes: 0, flushes: 0 }
  const byTail = { deletes: 0, flushes: 0 }
  const writer = await open(byWriter)
  const { context } = await open(byTail)
  const tail = createTail(context, 0, {
    owner: 'first',
    leaseMs: 30_000,
    rowsPerRound: 1_000,
    lookBackMs: 3_600_000,
    maxLagMs: 86_400_000,
  })
  const round = async (): Promise<number> => {
    const pass = createPass(context)
    await tail.round(
      pass,
      cleanableIndexes(context).map((entry) => indexTarget(context, entry)),
    )
    return pass.tally.removed
  }
  return { time, writer, byWriter, byTail, round }
}

function counting(driver: Driver, sent: Sent): Driver {
  const counted: Driver = faultyDriver(driver, ({ operation }) => {
    if (operation === 'remove') sent.deletes++
    return undefined
  })
  const shards = counted.shards.map((shard) => ({
    ...shard,
    async flush() {
      sent.flushes++
    },
  }))
  return { ...counted, shards }
}

test('the tail does not delete rows that a living writer deletes', async () => {
  const { time, writer, byWriter, byTail, round } = await openWorld()
  const { id } = await writer.put({ user_id: 'user 0', published: 0 })
  for (let move = 1; move <= 100; move++) {
    await writer.put({ user_id: `user ${move}`, published: move }, { id })
    await round()
    await time.step(STEP_MS)
  }
  for (let waited = 0; waited < 3 * keptRowsMs(writer.context.catalog.current()); waited += STEP_MS) {
    await round()
    await time.step(STEP_MS)
  }
  expect(await rowsIn(writer, 'by_user')).toEqual(await expectedRows(writer, 'by_user'))
  expect(byTail).toEqual({ deletes: 0, flushes: 0 })
  expect(byWriter.deletes).toBeGreaterThan(0)
})

test('the tail deletes a row that no writer deletes, even of an entity that keeps moving', async () => {
  const { time, writer, byTail, round } = await openWorld()
  const { id, version } = await writer.put({ user_id: 'user 0', published: 0 })
  // A writer that died after its commit leaves such a row.
  await addRow(writer, 'by_user', rowFor(writer, 'by_user', id, { user_id: 'eve', published: 1 }, version))
  let removed = 0
  let rounds = 0
  for (; removed === 0 && rounds < 200; rounds++) {
    await writer.put({ user_id: `user ${rounds}`, published: rounds }, { id })
    removed += await round()
    await time.step(STEP_MS)
  }
  expect({ removed, byTail }).toEqual({ removed: 1, byTail: { deletes: 1, flushes: 1 } })
  expect(rounds * STEP_MS).toBeGreaterThan(keptRowsMs(writer.context.catalog.current()))
})
