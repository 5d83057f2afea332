import type { Entry } from '../../kinds/entry.ts'
import { followId } from '../../kinds/follow.ts'
import type { Person } from '../../kinds/person.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import { cardsOf, type Card, type CommentBy } from '../entries/cards.ts'
import { listPeople } from '../accounts/people.ts'
import { byId } from '../site/lists.ts'
import { countUnread, isUnread, storiesOf, type HomePart, type HomeRow, type HomeRows } from './home-list.ts'

/** An entry of a home page, with the reason why it is there. */
export interface HomeCard extends Card {
  readonly isUnread: boolean
  /** Followed channels that brought it. Empty for an own message. */
  readonly via: readonly Channel[]
  /** Channels that brought entries with the same link, those of this entry first. Empty unless another entry is folded into it. */
  readonly sharers: readonly Channel[]
  /** The last comment if it moved the entry up; undefined if none did. */
  readonly bumpedBy: CommentBy | undefined
}

/** A source or a person, for people who follow it. */
export interface Channel {
  readonly id: string
  /** Undefined for a former member, and if its shard does not answer. */
  readonly name: string | undefined
  readonly href: string
  readonly isPerson: boolean
}

export interface HomeCards {
  readonly cards: readonly HomeCard[]
  /** The channels with the most unread entries, most first. */
  readonly unread: readonly { readonly channel: Channel; readonly unread: number }[]
  /** Number of further channels with unread entries. */
  readonly moreUnread: number
  /** People whom the person does not follow: those who comment on these entries or like them. On an empty page, the first members. */
  readonly suggested: readonly Person[]
  /** An entry that was just hidden, so that the page can offer to show it again. */
  readonly justHidden: Entry | undefined
}

/** Most channels with unread entries that a page names. */
const MAX_UNREAD = 2

/**
 * Reads the cards of a part of a home, and the names of its channels. Removed entries are left out, and so are those that are folded into
 * another entry with the same link.
 */
export async function homeCards(
  data: SiteData,
  personId: string,
  home: HomeRows,
  part: HomePart,
  hiddenId: string | undefined,
): Promise<HomeCards> {
  const { byChannel } = countUnread(home)
  const unread = byChannel.slice(0, MAX_UNREAD)
  const channelIds = [...part.rows.flatMap(({ via }) => via), ...unread.map(({ channel_id }) => channel_id)]
  const [entries, named] = await Promise.all([
    byId(data.entries, [...part.rows.map(({ entry_id }) => entry_id), hiddenId]),
    readChannels(data, channelIds),
  ])
  const onPage = new Map(part.rows.map((row) => [row, entries.get(row.entry_id)]))
  const isGone = (row: HomeRow): boolean => {
    const entry = onPage.get(row)
    return onPage.has(row) && (entry === undefined || entry.removed !== undefined)
  }
  const there = part.all.filter((row) => !isGone(row))
  const stories = storiesOf(there, home).flatMap((rows) => {
    const first = onPage.get(rows[0])
    return first === undefined ? [] : [{ first, rows }]
  })
  const sharers = stories.map(({ rows }) => sharersOf(rows))
  const [cards, others] = await Promise.all([
    cardsOf(
      data,
      stories.map(({ first }) => first),
      personId,
    ),
    readChannels(
      data,
      sharers.flat().filter((id) => !named.has(id)),
    ),
  ])
  const channelOf = (id: string): Channel =>
    named.get(id) ?? others.get(id) ?? { id, name: undefined, href: `/sources/${id}`, isPerson: false }
  return {
    suggested: await suggestedPeople(data, personId, cards, home),
    cards: cards.map((card, i) => {
      const { rows } = stories[i]!
      const [row] = rows
      return {
        ...card,
        isUnread: rows.some((each) => isUnread(each, home)),
        via: row.via.filter((id) => id !== personId).map(channelOf),
        sharers: (sharers[i] ?? []).map(channelOf),
        bumpedBy:
          home.order === 'activity' && row.bumped > row.arrived ? card.comments.items.at(-1) : undefined,
      }
    }),
    unread: unread.map(({ channel_id, unread: count }) => ({
      channel: channelOf(channel_id),
      unread: count,
    })),
    moreUnread: byChannel.length - unread.length,
    justHidden: hiddenId === undefined ? undefined : entries.get(hiddenId),
  }
}

/** Largest numbers of suggested people, and of people who are considered. */
const MAX_SUGGESTED = 2
const MAX_CONSIDERED = 12

async function suggestedPeople(
  data: SiteData,
  personId: string,
  cards: readonly Card[],
  { rows }: HomeRows,
): Promise<readonly Person[]> {
  const met = cards.flatMap(({ comments, likes }) => [...comments.items, ...likes.items])
  const people =
    rows.length === 0 ? (await listPeople(data)).items : met.flatMap(({ person }) => person ?? [])
  const known = new Set([personId, ...rows.flatMap(({ via }) => via)])
  const others = new Map(people.filter(({ id }) => !known.has(id)).map((person) => [person.id, person]))
  const considered = [...others.values()].slice(0, MAX_CONSIDERED)
  if (considered.length === 0) return []
  const ids = considered.map(({ id }) => followId(personId, id))
  const follows = await byId(data.follows, ids)
  return considered.filter((_, i) => !follows.has(ids[i]!)).slice(0, MAX_SUGGESTED)
}

/** Reads the names of channels. */
async function readChannels(data: SiteData, ids: readonly string[]): Promise<ReadonlyMap<string, Channel>> {
  const [people, sources] = await Promise.all([byId(data.people, ids), byId(data.sources, ids)])
  const channels = new Map<string, Channel>()
  for (const [id, { title }] of sources)
    channels.set(id, { id, name: title, href: `/sources/${id}`, isPerson: false })
  for (const [id, { full_name, name }] of people)
    channels.set(id, { id, name: full_name, href: `/people/${name}`, isPerson: true })
  return channels
}

/** Returns the ids of the channels that brought the entries of a story; none for a single entry. */
function sharersOf(rows: readonly HomeRow[]): readonly string[] {
  if (rows.length < 2) return []
  return [...new Set(rows.flatMap(({ via, channel_id }) => (via.length === 0 ? [channel_id] : via)))]
}
