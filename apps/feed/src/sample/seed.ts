import type { DataStore } from 'looseleaf'
import { readSetting, writeSetting } from '../model/settings.ts'
import { readSample } from './read-sample.ts'
import { sampleBags } from './sample-bags.ts'

const SEEDED = 'sample data'
const CHUNK = 500

/**
 * Fills a store with the sample data, once: a setting says that it was done, and deleted entries stay deleted.
 * Answers how many entities were written, 0 when it had been done before.
 */
export async function seedSample(store: DataStore, now: Date = new Date()): Promise<number> {
  if ((await readSetting(store, SEEDED)) !== undefined) return 0
  const bags = sampleBags(await readSample(), now)
  for (let at = 0; at < bags.length; at += CHUNK) {
    for (const result of await store.putMany(bags.slice(at, at + CHUNK))) if (!result.ok) throw result.error
  }
  await writeSetting(store, SEEDED, now.toISOString())
  return bags.length
}
