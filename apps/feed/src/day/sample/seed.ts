import type { SiteData } from '../../kinds/site-data.ts'
import { readSetting, writeSetting } from '../../domain/site/settings.ts'
import { readSample } from './read-sample.ts'
import { sampleEntities } from './sample-entities.ts'

const SEEDED = 'sample data'

/**
 * Fills a store with the sample data once. A setting records this, so deleted entries stay deleted. Returns the number of written
 * entities, or 0 if the store was seeded before.
 */
export async function seedSample(data: SiteData, now: Date = new Date()): Promise<number> {
  if ((await readSetting(data.settings, SEEDED)) !== undefined) return 0
  const sample = sampleEntities(await readSample(), now)
  // Follows and services come first, so that the entries are delivered by them.
  const first = await Promise.all([
    data.people.putMany(sample.people),
    data.sources.putMany(sample.sources),
    data.services.putMany(sample.services),
    data.follows.putMany(sample.follows),
  ])
  const then = await Promise.all([
    data.entries.putMany(sample.entries),
    data.comments.putMany(sample.comments),
    data.likes.putMany(sample.likes),
  ])
  await writeSetting(data.settings, SEEDED, now.toISOString())
  return [...first, ...then].flat().length
}
