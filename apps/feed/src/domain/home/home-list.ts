import { HOME_LIMIT, type InboxItem } from '../../kinds/inbox-item.ts'
import type { Home } from '../../kinds/home.ts'
import type { MediaKind } from '../../kinds/entry.ts'

const ROWS_PER_PAGE = 20

/** An entry of a home page, as index rows have it. */
export type HomeRow = Omit<InboxItem, 'id' | 'version' | 'person_id'>

export type HomeOrder = Home['order']

/** All entries of a person's home page, newest first, with the person's settings. */
export interface HomeRows {
  readonly rows: readonly HomeRow[]
  readonly order: HomeOrder
  readonly seenBefore: Date
  /** True if older entries are left out. */
  readonly isFull: boolean
  /** True if entries with one link are one story: while the site has the index by which the page of an entry lists the others. */
  readonly isFolded: boolean
  /** The followed channels that are read at each visit. */
  readonly pulled: readonly string[]
}

/** Joins the rows of an inbox with those of channels that are read at each visit, newest first. A row of the inbox knows what the person did. */
export function joinRows(inbox: readonly HomeRow[], pulled: readonly HomeRow[]): readonly HomeRow[] {
  const rows = new Map(inbox.map((row) => [row.entry_id, row]))
  for (const row of pulled) {
    const known = rows.get(row.entry_id)
    if (known === undefined) {
      rows.set(row.entry_id, row)
      continue
    }
    const bumped = known.bumped < row.bumped ? row.bumped : known.bumped
    rows.set(row.entry_id, { ...known, via: [...new Set([...known.via, ...row.via])], bumped })
  }
  return [...rows.values()].toSorted((a, b) => compare(a, b, 'newest')).slice(0, HOME_LIMIT)
}

/** Returns the rows that a person sees, in the person's order. */
export function visibleRows({ rows, order }: HomeRows): readonly HomeRow[] {
  return rows.filter(({ hidden }) => !hidden).toSorted((a, b) => compare(a, b, order))
}

/** The rows of a home with one link, in its order. A home shows the entry of the first. */
export type Story = readonly [HomeRow, ...HomeRow[]]

/** Returns the stories of these rows, in the order of their first ones. Unless `isFolded`, each row is one. */
export function storiesOf(
  rows: readonly HomeRow[],
  { isFolded }: Pick<HomeRows, 'isFolded'>,
): readonly Story[] {
  const stories = new Map<string, [HomeRow, ...HomeRow[]]>()
  for (const row of rows) {
    const key = (isFolded ? row.link_key : undefined) ?? row.entry_id
    const story = stories.get(key)
    if (story === undefined) stories.set(key, [row])
    else story.push(row)
  }
  return [...stories.values()]
}

export function isUnread(row: HomeRow, { seenBefore }: Pick<HomeRows, 'seenBefore'>): boolean {
  return !row.read && !row.hidden && row.delivered > seenBefore
}

/** Numbers of stories with unread entries: the sum, and those whose first entry is of each channel that has some, most first. */
export interface Unread {
  readonly total: number
  readonly byChannel: readonly { readonly channel_id: string; readonly unread: number }[]
}

export function countUnread(home: HomeRows): Unread {
  const counts = new Map<string, number>()
  for (const story of storiesOf(visibleRows(home), home)) {
    const [{ channel_id }] = story
    if (story.some((row) => isUnread(row, home))) counts.set(channel_id, (counts.get(channel_id) ?? 0) + 1)
  }
  const byChannel = Array.from(counts, ([channel_id, unread]) => ({ channel_id, unread }))
  return {
    total: byChannel.reduce((sum, { unread }) => sum + unread, 0),
    byChannel: byChannel.toSorted((a, b) => b.unread - a.unread || (a.channel_id < b.channel_id ? -1 : 1)),
  }
}

/** Returns the time of the last delivery that a home page shows, for "mark all read": a later one stays unread. */
export function seenUpTo({ rows }: HomeRows): Date {
  return rows.reduce((last, { delivered }) => (delivered > last ? delivered : last), new Date(0))
}

export interface HomePart {
  readonly rows: readonly HomeRow[]
  /** All rows of the list that it is a part of, in order. */
  readonly all: readonly HomeRow[]
  readonly cursor: string | undefined
  readonly previous: string | undefined
}

/** Returns a page of the visible entries, after a cursor. Undefined for a cursor that no page of a home has. */
export function cutHome(
  home: HomeRows,
  { media, after }: { readonly media?: MediaKind | undefined; readonly after?: string | undefined },
): HomePart | undefined {
  const place = after === undefined ? undefined : readCursor(after)
  if (after !== undefined && place === undefined) return undefined
  const all = visibleRows(home).filter((row) => media === undefined || row.media === media)
  // The entry at the cursor may have moved or gone; the page begins at the first that comes after its place.
  const found =
    place === undefined ? 0 : all.findIndex((row) => comparePlaces(placeOf(row, home.order), place) > 0)
  const start = found === -1 ? all.length : found
  const rows = all.slice(start, start + ROWS_PER_PAGE)
  const last = rows.at(-1)
  const before = all[start - ROWS_PER_PAGE - 1]
  return {
    rows,
    all,
    cursor: last !== undefined && start + rows.length < all.length ? cursorAt(last, home.order) : undefined,
    previous: before === undefined ? undefined : cursorAt(before, home.order),
  }
}

interface Place {
  readonly time: number
  readonly id: string
}

function placeOf(row: HomeRow, order: HomeOrder): Place {
  return { time: (order === 'newest' ? row.arrived : row.bumped).getTime(), id: row.entry_id }
}

/** Compares by time, latest first, and entries of the same time by id. */
export function comparePlaces(a: Place, b: Place): number {
  if (a.time !== b.time) return b.time - a.time
  return a.id === b.id ? 0 : a.id > b.id ? -1 : 1
}

function compare(a: HomeRow, b: HomeRow, order: HomeOrder): number {
  return comparePlaces(placeOf(a, order), placeOf(b, order))
}

function cursorAt(row: HomeRow, order: HomeOrder): string {
  const { time, id } = placeOf(row, order)
  return `${time}.${id}`
}

function readCursor(text: string): Place | undefined {
  const [, time, id] = /^(-?\d{1,16})\.([0-9a-f-]{36})$/.exec(text) ?? []
  return time === undefined || id === undefined ? undefined : { time: Number(time), id }
}
