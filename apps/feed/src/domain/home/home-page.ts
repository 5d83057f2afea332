import type { Entry } from '../../kinds/entry.ts'
import { followId } from '../../kinds/follow.ts'
import type { Person } from '../../kinds/person.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import { cardsOf, type Card, type CommentBy } from '../entries/cards.ts'
import { listPeople } from '../accounts/people.ts'
import { byId } from '../site/lists.ts'
import { countUnread, isUnread, type HomePart, type HomeRow, type HomeRows } from './home-list.ts'

/** An entry of a home page, with the reason why it is there. */
export interface HomeCard extends Card {
  readonly isUnread: boolean
  /** Followed channels that brought it. Empty for an own message. */
  readonly via: readonly Channel[]
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
  /** Channels with unread entries, most first. */
  readonly unread: readonly { readonly channel: Channel; readonly unread: number }[]
  /** People whom the person does not follow: those who comment on these entries or like them. On an empty page, the first members. */
  readonly suggested: readonly Person[]
  /** An entry that was just hidden, so that the page can offer to show it again. */
  readonly justHidden: Entry | undefined
}

/** Reads the cards of a part of a home, and the names of its channels. Removed entries are left out. */
export async function homeCards(
  data: SiteData,
  personId: string,
  home: HomeRows,
  part: HomePart,
  hiddenId: string | undefined,
): Promise<HomeCards> {
  const unread = countUnread(home).byChannel
  const channelIds = [...part.rows.flatMap(({ via }) => via), ...unread.map(({ channel_id }) => channel_id)]
  const [entries, people, sources] = await Promise.all([
    byId(data.entries, [...part.rows.map(({ entry_id }) => entry_id), hiddenId]),
    byId(data.people, channelIds),
    byId(data.sources, channelIds),
  ])
  const channelOf = (id: string): Channel => {
    const [person, source] = [people.get(id), sources.get(id)]
    if (person !== undefined)
      return { id, name: person.full_name, href: `/people/${person.name}`, isPerson: true }
    return { id, name: source?.title, href: `/sources/${id}`, isPerson: false }
  }
  const shown = part.rows.flatMap((row) => {
    const entry = entries.get(row.entry_id)
    return entry === undefined || entry.removed !== undefined ? [] : [{ row, entry }]
  })
  const cards = await cardsOf(
    data,
    shown.map(({ entry }) => entry),
    personId,
  )
  return {
    suggested: await suggestedPeople(data, personId, cards, home),
    cards: cards.map((card, i) => {
      const { row } = shown[i] as { row: HomeRow }
      return {
        ...card,
        isUnread: isUnread(row, home),
        via: row.via.filter((id) => id !== personId).map(channelOf),
        bumpedBy:
          home.order === 'activity' && row.bumped > row.arrived ? card.comments.items.at(-1) : undefined,
      }
    }),
    unread: unread.map(({ channel_id, unread: count }) => ({
      channel: channelOf(channel_id),
      unread: count,
    })),
    justHidden: hiddenId === undefined ? undefined : entries.get(hiddenId),
  }
}

/** Largest numbers of suggested people, and of people who are considered. */
const MAX_SUGGESTED = 4
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
