import type { Entry } from '../../kinds/entry.ts'
import { HOME_LIMIT } from '../../kinds/inbox-item.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import { createSharedReads, type MayLackData } from '../site/shared-reads.ts'
import type { HomeRow } from './home-list.ts'
import { mergeNewest } from './merge-newest.ts'

/** Milliseconds for which a list is shared. Its new entries are on home pages that much later. */
export const LISTS_KEPT_MS = 1_000
/** The same for the sources of a person, which change seldom. */
const KEEP_SERVICES_MS = 10_000
/** Shortest time in milliseconds for which a list is continued by its newest entries. Then it is read as a whole, with the comments on older ones. */
const WHOLE_MS = 10_000
/** Milliseconds before the newest known entry from which a list is continued, because entries may be written a moment after they came. */
const OVERLAP_MS = 5_000
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
  /** Returns the channels whose entries these channels bring: themselves, and the sources that people among them publish through. */
  channelsOf(channels: readonly string[]): Promise<readonly string[]>
}

export interface PulledListsOptions {
  /** Milliseconds for which lists are shared. Default: a second, and ten for the sources of people. */
  readonly keepMs?: number
  /** With `skip`, the default, lists on shards that do not answer are empty, and the trace knows these shards. */
  readonly onUnavailable?: 'skip' | 'fail'
}

/** A row as all followers share it. */
type SharedRow = Omit<HomeRow, 'via'>

interface SharedList<Item> extends MayLackData {
  readonly items: readonly Item[]
}

interface ChannelList extends SharedList<SharedRow> {
  /** Time of `performance.now()` from which it is read as a whole. It differs between lists, so that no visit reads all of them. */
  readonly wholeUntil: number
}

export function createPulledLists(
  { services, entries }: SiteData,
  { keepMs, onUnavailable = 'skip' }: PulledListsOptions = {},
): PulledLists {
  const options = { verify: false, onUnavailable } as const

  /** The sources that people publish through. */
  const sources = createSharedReads<SharedList<string>>({
    keepMs: keepMs ?? KEEP_SERVICES_MS,
    most: MOST_LISTS,
    async read(person_id) {
      const { items, cost } = await services.byPerson.list(
        { person_id },
        { ...options, limit: MOST_SERVICES },
      )
      return { items: items.map(({ source_id }) => source_id), isPartial: cost.missingShards !== undefined }
    },
  })
  const newest = createSharedReads<ChannelList>({
    keepMs: keepMs ?? LISTS_KEPT_MS,
    most: MOST_LISTS,
    async read(channel_id, before) {
      const since = placeToContinue(before)
      const found = await entries.byChannel.list(
        { channel_id, ...(since !== undefined && { arrived: { gte: since } }) },
        { ...options, order: 'desc', limit: HOME_LIMIT },
      )
      const items = found.items.filter(({ quiet }) => !quiet).map(toRow)
      const isPartial = found.cost.missingShards !== undefined
      if (before === undefined || since === undefined)
        return { items, isPartial, wholeUntil: performance.now() + WHOLE_MS * (1 + Math.random()) }
      const older = before.items.filter(({ arrived }) => arrived < since)
      return { ...before, items: [...items, ...older].slice(0, HOME_LIMIT), isPartial }
    },
  })

  /** Returns the followed channels by the channel whose entries they bring. */
  async function viaOf(channels: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
    const published = await Promise.all(channels.map((channel) => sources.get(channel)))
    const via = new Map<string, string[]>()
    for (const [i, channel] of channels.entries())
      for (const from of [channel, ...published[i]!.items]) {
        const known = via.get(from)
        if (known === undefined) via.set(from, [channel])
        else known.push(channel)
      }
    return via
  }

  return {
    channelsOf: async (channels) => [...(await viaOf(channels)).keys()],
    async newestOf(channels) {
      const via = await viaOf(channels)
      const lists = await Promise.all(Array.from(via.keys(), (channel) => newest.get(channel)))
      const rows = mergeNewest(
        lists.map(({ items }) => items),
        HOME_LIMIT,
      )
      return rows.map((row) => ({ ...row, via: via.get(row.channel_id) ?? [] }))
    },
  }
}

/** Returns the time from which a list is continued; undefined if it has to be read as a whole. */
function placeToContinue(list: ChannelList | undefined): Date | undefined {
  const [newest] = list?.items ?? []
  if (list === undefined || newest === undefined || performance.now() >= list.wholeUntil) return undefined
  return new Date(newest.arrived.getTime() - OVERLAP_MS)
}

function toRow({
  id,
  channel_id,
  arrived,
  bumped,
  media_kind,
  link_key,
}: Pick<Entry, 'id' | 'channel_id' | 'arrived' | 'bumped' | 'media_kind' | 'link_key'>): SharedRow {
  const times = { arrived, delivered: arrived, bumped }
  return { entry_id: id, channel_id, ...times, media: media_kind, link_key, read: false, hidden: false }
}
