import { setTimeout as sleep } from 'node:timers/promises'
import { checkIndex, sweep } from '@looseleaf/cleaner'
import type { DataStore } from '@looseleaf/store'
import { expect } from 'vitest'
import { tunedMoveBuckets } from '@looseleaf/mover/internal'
import { SOME_BUCKETS } from '../stores.ts'
import { attackedIndexes } from './indexes.ts'
import { newFindings, type Findings } from './oracle.ts'
import { checkEnd, startTraffic } from './traffic.ts'

/**
 * Moves half of the buckets of shard 0 to shard 1 and back, while 8 writers and 3 readers work on these stores. Closes all stores. Returns the
 * findings.
 */
export async function moveToAndFro(
  stores: readonly DataStore[],
  mover: DataStore,
  { entitiesPerWriter, groups }: { readonly entitiesPerWriter: number; readonly groups: number },
): Promise<Findings> {
  const findings = newFindings()
  const traffic = await startTraffic(
    stores,
    { writers: 8, readers: 3, entitiesPerWriter, pause: () => sleep(2) },
    findings,
  )
  try {
    for (const [from, to] of [
      [0, 1],
      [1, 0],
    ] as const) {
      const report = await tunedMoveBuckets(mover, { from, to, buckets: SOME_BUCKETS }, { groups })
      expect(report).toMatchObject({ state: 'done', handedOver: 1_024 })
    }
  } finally {
    await traffic.stop()
  }
  await Promise.all(stores.map((store) => store.close()))
  await checkEnd(mover, traffic)
  expect(findings.writes).toBeGreaterThan(100)
  expect(findings.queries).toBeGreaterThan(10)
  expect(await sweep(mover)).toMatchObject({ added: 0, misplaced: 0, misfits: 0, duplicates: 0 })
  for (const { name } of attackedIndexes)
    expect(await checkIndex(mover, name)).toMatchObject({
      missing: 0,
      unclaimed: 0,
      dangling: 0,
      misplaced: 0,
      unsettled: 0,
    })
  await mover.close()
  return findings
}
