import { homeId } from '../../kinds/home.ts'
import { HOME_LIMIT } from '../../kinds/inbox-item.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import { pagesOf } from '../site/lists.ts'
import { readThing } from '../site/partial-reads.ts'
import type { Site } from '../site/site.ts'
import { joinRows, type HomeRows } from './home-list.ts'
import type { PulledLists } from './pulled-lists.ts'

/** Follows per page. */
const PAGE = 500

/**
 * Reads all that a home page needs to order, filter and count: a range of the inbox, and the lists of the followed channels with so many
 * followers that they are read at each visit. Reads no entries.
 * Rejects with `Unreadable` if the shard of the person does not answer.
 */
export async function readHome(
  { data, pulledLists }: Pick<Site, 'data' | 'pulledLists'>,
  personId: string,
): Promise<HomeRows> {
  const [home, { rows, pulled }] = await Promise.all([
    readThing(data.homes, homeId(personId), 'home page'),
    readHomeRows(data, personId, pulledLists, 'skip'),
  ])
  return {
    rows,
    order: home?.order ?? 'newest',
    seenBefore: home?.seen_before ?? new Date(0),
    isFull: rows.length === HOME_LIMIT,
    isFolded: data.entries.byLink.isReady(),
    pulled,
  }
}

/** Reads the rows of a home page, and the channels that it reads for them. With `fail` it rejects if a shard does not answer. */
export async function readHomeRows(
  data: SiteData,
  personId: string,
  lists: PulledLists,
  onUnavailable: 'skip' | 'fail',
): Promise<Pick<HomeRows, 'rows' | 'pulled'>> {
  const options = { verify: false, onUnavailable } as const
  // A channel that returns to deliveries first writes its entries into the inbox, and then takes its mark off the follow. So the marks are
  // read first: its entries are in its list or in the inbox.
  const channels = await pulledBy(data, personId, options)
  const [inbox, newest] = await Promise.all([
    data.inbox.byPerson.list({ person_id: personId }, { ...options, order: 'desc', limit: HOME_LIMIT }),
    lists.newestOf(channels),
  ])
  return { rows: joinRows(inbox.items, newest), pulled: channels }
}

/** Returns the followed channels that are read at each visit. */
async function pulledBy(
  { follows }: SiteData,
  pulled_by: string,
  options: { readonly verify: false; readonly onUnavailable: 'skip' | 'fail' },
): Promise<readonly string[]> {
  const channels: string[] = []
  for await (const { items } of pagesOf((cursor) =>
    follows.byPuller.list({ pulled_by }, { ...options, limit: PAGE, cursor }),
  ))
    channels.push(...items.map(({ channel_id }) => channel_id))
  return channels
}
