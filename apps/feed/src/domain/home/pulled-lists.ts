import { HOME_LIMIT } from '../../kinds/inbox-item.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import { createSharedReads } from '../site/shared-reads.ts'
import type { HomeRow } from './home-list.ts'
import { mergeNewest } from './merge-newest.ts'

/** Milliseconds for which a list is shared. Its new entries are on home pages that much later. */
const KEEP_MS = 1_000
/** Largest number of channels whose lists are in memory. A list of 400 rows takes some 100 KB. */
const MOST_LISTS = 500
/** More than `MAX_SERVICES`, because people who add several at the same time may exceed it. */
const MOST_SERVICES = 400

/** The newest entries of channels that are read at each visit. They are the same for all followers, so these share them. */
export interface PulledLists {
  /**
   * Returns the entries that these channels bring, newest first, at most `HOME_LIMIT`. A person among them also brings the entries of the
   * sources that the person publishes through. `via` has the channels that bring an entry.
   */
  newestOf(channels: readonly string[]): Promise<readonly HomeRow[]>
}

export interface PulledListsOptions {
  /** Default: a second. */
  readonly keepMs?: number
  /** With `skip`, the default, lists on shards that do not answer are empty, and the trace knows these shards. */
  readonly onUnavailable?: 'skip' | 'fail'
}

/** A row as all followers share it. */
type SharedRow = Omit<HomeRow, 'via'>

interface SharedList<Item> {
  readonly items: readonly Item[]
  readonly isPartial: boolean
}

export function createPulledLists(
  { services, entries }: SiteData,
  { keepMs = KEEP_MS, onUnavailable = 'skip' }: PulledListsOptions = {},
): PulledLists {
  const isPartial = (list: SharedList<unknown>): boolean => list.isPartial
  const shared = { isPartial, keepMs, most: MOST_LISTS }
  const options = { verify: false, onUnavailable } as const

  /** The sources that people publish through. */
  const sources = createSharedReads<SharedList<string>>({
    ...shared,
    async read(person_id) {
      const { items, cost } = await services.byPerson.list(
        { person_id },
        { ...options, limit: MOST_SERVICES },
      )
      return { items: items.map(({ source_id }) => source_id), isPartial: cost.missingShards !== undefined }
    },
  })
  const newest = createSharedReads<SharedList<SharedRow>>({
    ...shared,
    async read(channel_id) {
      const found = await entries.byChannel.list(
        { channel_id },
        { ...options, order: 'desc', limit: HOME_LIMIT },
      )
      const items = found.items
        .filter(({ quiet }) => !quiet)
        .map(({ id, arrived, bumped, media_kind }) => ({
          entry_id: id,
          channel_id,
          arrived,
          delivered: arrived,
          bumped,
          media: media_kind,
          read: false,
          hidden: false,
        }))
      return { items, isPartial: found.cost.missingShards !== undefined }
    },
  })

  return {
    async newestOf(channels) {
      const published = await Promise.all(channels.map((channel) => sources.get(channel)))
      /** Followed channels by the channel whose entries they bring. */
      const via = new Map<string, string[]>()
      for (const [i, channel] of channels.entries())
        for (const from of [channel, ...published[i]!.items]) {
          const known = via.get(from)
          if (known === undefined) via.set(from, [channel])
          else known.push(channel)
        }
      const lists = await Promise.all(Array.from(via.keys(), (channel) => newest.get(channel)))
      const rows = mergeNewest(
        lists.map(({ items }) => items),
        HOME_LIMIT,
      )
      return rows.map((row) => ({ ...row, via: via.get(row.channel_id) ?? [] }))
    },
  }
}

const listsOfSites = new WeakMap<SiteData, PulledLists>()

/** Returns the lists that all visits of a site in this process share. */
export function pulledListsOf(data: SiteData): PulledLists {
  let lists = listsOfSites.get(data)
  if (lists === undefined) listsOfSites.set(data, (lists = createPulledLists(data)))
  return lists
}
