import type { Driver } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { DataStore } from '@looseleaf/store'
import { faultyDriver, keepOpen } from '@looseleaf/testkit'
import { fastTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { attackedIndexes } from './attack/indexes.ts'
import { moveToAndFro } from './attack/move-to-and-fro.ts'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Opens a store whose statements take some turns of the event loop, so that calls of other stores come in between. */
function openSlow(memory: Driver): Promise<DataStore> {
  let calls = 0
  const wait = async (): Promise<void> => {
    for (let turns = ++calls % 4; turns > 0; turns--) await turn()
  }
  return DataStore.open({
    shards: keepOpen(faultyDriver(memory, () => ({ before: wait, after: wait }))),
    indexes: attackedIndexes,
    migrate: true,
    queryTimeMs: 30_000,
    writeTimeoutMs: 100_000,
    time: fastTime(20),
  })
}

test('writers and readers lose nothing, and no call fails, while buckets move to another shard and back', async () => {
  const memory = await memoryShards(2).connect()
  const mover = await openSlow(memory)
  const findings = await moveToAndFro([await openSlow(memory), await openSlow(memory)], mover, {
    entitiesPerWriter: 5,
    groups: 3,
  })
  await memory.close()
  expect(findings).toMatchObject({ violations: [], failures: new Map() })
}, 60_000)
