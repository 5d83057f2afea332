import { setTimeout as sleep } from 'node:timers/promises'
import { cleanIndex, type CleanResult } from '@looseleaf/cleaner'
import type { DataStore } from '@looseleaf/store'
import { expect } from 'vitest'
import { moveBuckets } from '@looseleaf/mover/internal'
import { SOME_BUCKETS } from '../stores.ts'
import { endAttack } from './end-attack.ts'
import { attackedIndexes, lateIndexes } from './indexes.ts'
import { newFindings, type Findings } from './oracle.ts'
import { startTraffic } from './traffic.ts'

/**
 * Moves half of the buckets of shard 0 to shard 1 and back, while 8 writers and 3 readers work on these stores, and indexes are added and
 * filled. Closes all stores. Returns the findings.
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
    for (const [i, [from, to]] of [[0, 1] as const, [1, 0] as const].entries()) {
      const [report, filled] = await Promise.all([
        moveBuckets(mover, { from, to, buckets: SOME_BUCKETS }, { groups }),
        addAndFill(mover, lateIndexes[i]!),
      ])
      expect(report).toMatchObject({ state: 'done', handedOver: 1_024 })
      expect(filled).toMatchObject({ complete: true })
    }
  } finally {
    await traffic.stop()
  }
  await endAttack(stores, mover, traffic, [...attackedIndexes, ...lateIndexes.flat()])
  await mover.close()
  return findings
}

async function addAndFill(store: DataStore, indexes: (typeof lateIndexes)[number]): Promise<CleanResult> {
  await store.addIndex(indexes)
  return cleanIndex(
    store,
    indexes.map(({ name }) => name),
  )
}
