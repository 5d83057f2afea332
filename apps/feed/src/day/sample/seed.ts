import type { SiteData } from '../../kinds/site-data.ts'
import { readSetting, writeSetting } from '../../domain/site/settings.ts'
import { readSample } from './read-sample.ts'
import { itemOf } from '../../domain/home/commands.ts'
import { inboxItemId } from '../../kinds/inbox-item.ts'
import { sampleEntities, type SampleEntities } from './sample-entities.ts'

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
    data.inbox.putMany(inboxesOf(sample)),
  ])
  await keepUnseeded(data, now)
  return [...first, ...then].flat().length
}

/** Records that a store needs no sample data. */
export async function keepUnseeded({ settings }: SiteData, now: Date = new Date()): Promise<void> {
  await writeSetting(settings, SEEDED, now.toISOString())
}

/** Newest entries that are in the inboxes from the first page on. Deliveries bring the others. */
const BROUGHT = 120

/** Returns the items of the newest entries for the followers of their people. */
function inboxesOf({ entries, follows }: SampleEntities) {
  const followers = Map.groupBy(follows, ({ channel_id }) => channel_id)
  return entries
    .toSorted((a, b) => b.arrived.getTime() - a.arrived.getTime())
    .slice(0, BROUGHT)
    .flatMap((entry) => {
      const { id, person_id = '', arrived } = entry
      return (followers.get(person_id) ?? []).map((follow) => ({
        id: inboxItemId(follow.person_id, id),
        ...itemOf(entry, follow.person_id, [person_id], arrived),
      }))
    })
}
