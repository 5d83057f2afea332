import { isLooseleafError } from 'looseleaf'
import { followId } from '../../kinds/follow.ts'
import { importedEntryId } from '../../kinds/ids.ts'
import { serviceId } from '../../kinds/service.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import type { Source } from '../../kinds/source.ts'
import type { FeedItem } from '../../feeds/parse/parsed-feed.ts'
import { markIfPulled } from '../home/pulled-follows.ts'
import { feedName } from './source-names.ts'

/** Returns the fetched source of a feed's address; undefined if there is none. */
export function sourceAt({ sources }: SiteData, address: string): Promise<Source | undefined> {
  return sources.byName.first({ known_as: feedName(address) })
}

/** Items that are compared to tell whether two sources are one. */
const COMPARED = 20

/**
 * Tells whether a source has most of these items. A feed that names another address as its own may be wrong, or may lie, so its word
 * alone makes no two sources one.
 */
export async function hasItems(
  { entries }: SiteData,
  sourceId: string,
  items: readonly FeedItem[],
): Promise<boolean> {
  const ids = items.slice(0, COMPARED).map(({ guid }) => importedEntryId(sourceId, guid))
  const found = (await entries.getMany(ids)).filter((entry) => entry !== undefined)
  return found.length * 2 > ids.length
}

/**
 * Moves all that a source has to the source of the same feed, except its entries, whose ids are derived from it: its names, its
 * followers and the people who publish through it. May be repeated after a crash. The caller makes the source an alias afterwards.
 */
export async function moveSource(data: SiteData, from: Source, to: Source): Promise<void> {
  const { follows, services, sources } = data
  await sources.update(to.id, ({ known_as, next_check }) => ({
    known_as: [...new Set([...known_as, ...from.known_as])],
    next_check: next_check ?? new Date(),
  }))
  for await (const { id, person_id, since } of follows.byChannel.each({ channel_id: from.id })) {
    await unlessKnown(
      follows.insert({ person_id, since, channel_id: to.id }, { id: followId(person_id, to.id) }),
    )
    await markIfPulled(data, person_id, to.id)
    await follows.delete(id)
  }
  for await (const { id, person_id, added } of services.bySource.each({ source_id: from.id })) {
    const moved = { person_id, added, source_id: to.id }
    await unlessKnown(services.insert(moved, { id: serviceId(person_id, to.id) }))
    await services.delete(id)
  }
}

async function unlessKnown(insert: Promise<unknown>): Promise<void> {
  try {
    await insert
  } catch (error) {
    if (!isLooseleafError(error, 'ALREADY_EXISTS')) throw error
  }
}
