import { sweep } from '@looseleaf/cleaner'
import type { DataStore } from '@looseleaf/store'
import { expect } from 'vitest'
import { checkIndexes } from '../stores.ts'
import { attackedIndexes } from './indexes.ts'
import { checkEnd, type Traffic } from './traffic.ts'

/** Closes the stores whose traffic has stopped, and compares another store with the oracle and with these indexes. */
export async function endAttack(
  stores: readonly DataStore[],
  store: DataStore,
  traffic: Traffic,
  indexes: readonly { readonly name: string }[] = attackedIndexes,
): Promise<void> {
  const { findings } = traffic
  await Promise.all(stores.map((each) => each.close()))
  await checkEnd(store, traffic)
  expect(findings.writes).toBeGreaterThan(100)
  expect(findings.queries).toBeGreaterThan(10)
  expect(await sweep(store)).toMatchObject({ added: 0, misplaced: 0, misfits: 0, duplicates: 0 })
  await checkIndexes(store, indexes)
}
