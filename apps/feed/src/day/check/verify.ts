import { INBOX_KEPT } from '../../domain/home/trim-inbox.ts'
import { createPulledLists } from '../../domain/home/pulled-lists.ts'
import { readHome } from '../../domain/home/queries.ts'
import { deliveryId } from '../../kinds/delivery.ts'
import type { Entry } from '../../kinds/entry.ts'
import { likeId } from '../../kinds/ids.ts'
import { HOME_LIMIT } from '../../kinds/inbox-item.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import type { Crew } from '../crew/crew.ts'
import { expectedRecipients, type Recipients } from './expect.ts'
import type { Made, MadeAnswer } from '../traffic/play.ts'

/** Rows per page, and entries per read. */
const PAGE = 500
/** Homes that are compared with brute force, evenly among all. */
const HOMES = 200

/** Comparison of a store with all that was made during a day. */
export interface Verdict {
  /** Entries that exist, and those of them that are messages. */
  readonly entries: number
  readonly posts: number
  readonly comments: number
  readonly likes: number
  /** Rows of inboxes, and entries of the compared homes that come from channels which are read at each visit. */
  readonly expected: number
  /** Number of these that were found. */
  readonly delivered: number
  readonly missing: number
  /** Rows that a long inbox has lost to newer ones. They are not among the expected ones. */
  readonly trimmed: number
  /** Rows beyond the first of a person and an entry, and rows of people who should not have any. */
  readonly double: number
  /** Acknowledged messages, comments and likes that are gone. */
  readonly gone: number
  /** Entries whose numbers of comments or likes differ from their entities. */
  readonly miscounted: number
  readonly homesCompared: number
  /** Milliseconds from the arrival of an entry to its last row in an inbox. */
  readonly visible: readonly number[]
}

/** An entry of the day that exists, with its expected recipients. */
interface Found extends Recipients {
  readonly entry: Entry
}

/** Compares every entry of a day with brute force over the follows and the forms that were answered. */
export async function verify(data: SiteData, crew: Crew, made: Made): Promise<Verdict> {
  const tally = { expected: 0, delivered: 0, missing: 0, trimmed: 0, double: 0, gone: 0, miscounted: 0 }
  const visible: number[] = []
  const found: Found[] = []
  for (const [thing, entry] of await read(data.entries, made.entries, ({ id }) => id)) {
    if (entry === undefined && !thing.isAcknowledged) continue
    const recipients = expectedRecipients(thing, crew)
    tally.expected += recipients.pushed.size
    if (entry === undefined) {
      tally.missing += recipients.pushed.size + recipients.pulling.size
      if (thing.person !== undefined) tally.gone++
      continue
    }
    found.push({ entry, ...recipients })
    const rows = await countRows(data, entry.id)
    for (const person of recipients.pushed) {
      if (rows.has(person)) tally.delivered++
      else if (await isTrimmed(data, person, entry.arrived)) {
        tally.trimmed++
        tally.expected--
      } else tally.missing++
    }
    for (const [person, count] of rows) tally.double += recipients.pushed.has(person) ? count - 1 : count
  }
  for (const [{ entry, pushed }, delivery] of await read(data.deliveries, found, ({ entry: { id } }) =>
    deliveryId(id),
  ))
    if (delivery !== undefined && pushed.size > 0)
      visible.push(delivery.delivered.getTime() - entry.arrived.getTime())
  const homes = spread(crew.readers, HOMES)
  const site = { data, pulledLists: createPulledLists(data) }
  for (const reader of homes) await compareHome(site, reader, found, tally)
  const answers = await checkAnswers(data, found, made)
  return {
    ...tally,
    ...answers,
    gone: tally.gone + answers.gone,
    entries: found.length,
    posts: found.filter(({ entry }) => entry.source_id === undefined).length,
    homesCompared: homes.length,
    visible,
  }
}

/** Returns the number of rows of each person for an entry. */
async function countRows({ inbox }: SiteData, entry_id: string): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>()
  for await (const { person_id } of inbox.byEntry.each({ entry_id }, { limit: PAGE }))
    counts.set(person_id, (counts.get(person_id) ?? 0) + 1)
  return counts
}

/** Tells whether an inbox is so long that it has no items of this time any more. */
async function isTrimmed({ inbox }: SiteData, person_id: string, arrived: Date): Promise<boolean> {
  if ((await inbox.byPerson.count({ person_id }, { exact: true })) < INBOX_KEPT) return false
  const { items } = await inbox.byPerson.list({ person_id }, { limit: 1 })
  return items.every((oldest) => oldest.arrived >= arrived)
}

/** Compares the home of a reader with all entries that its channels brought. Entries of pushed channels are counted already, unless their row exists and the home lacks it. */
async function compareHome(
  site: Parameters<typeof readHome>[0],
  reader: string,
  found: readonly Found[],
  tally: { expected: number; delivered: number; missing: number },
): Promise<void> {
  const { rows, isFull } = await readHome(site, reader)
  const shown = new Set(rows.map(({ entry_id }) => entry_id))
  const oldest = isFull ? (rows[HOME_LIMIT - 1]?.arrived.getTime() ?? 0) : -Infinity
  for (const { entry, pushed, pulling } of found) {
    if (entry.arrived.getTime() <= oldest) continue
    const isPushed = pushed.has(reader)
    if (!isPushed && !pulling.has(reader)) continue
    if (!isPushed) tally.expected++
    if (!shown.has(entry.id)) tally.missing++
    else if (!isPushed) tally.delivered++
  }
}

/** Checks that all acknowledged comments and likes exist, and that entries count them. */
async function checkAnswers(
  data: SiteData,
  found: readonly Found[],
  made: Made,
): Promise<Pick<Verdict, 'comments' | 'likes' | 'gone' | 'miscounted'>> {
  let [comments, likes, miscounted] = [0, 0, 0]
  for (const { entry } of found) {
    const where = { entry_id: entry.id }
    const [commented, liked] = await Promise.all([
      data.comments.byEntry.count(where, { exact: true }),
      data.likes.byEntry.count(where, { exact: true }),
    ])
    comments += commented
    likes += liked
    if (commented !== entry.comments || liked !== entry.likes) miscounted++
  }
  const isGone = ([{ isAcknowledged }, entity]: [MadeAnswer, unknown]): boolean =>
    isAcknowledged && entity === undefined
  const lost = [
    ...(await read(data.comments, made.comments, ({ id }) => id)),
    ...(await read(data.likes, made.likes, ({ entryId, id }) => likeId(entryId, id))),
  ].filter(isGone)
  return { comments, likes, miscounted, gone: lost.length }
}

/** Reads the entity of each thing by its id. */
async function read<Thing, Entity>(
  collection: { getMany(ids: readonly string[]): Promise<readonly (Entity | undefined)[]> },
  things: readonly Thing[],
  idOf: (thing: Thing) => string,
): Promise<[Thing, Entity | undefined][]> {
  const pairs: [Thing, Entity | undefined][] = []
  for (let at = 0; at < things.length; at += PAGE) {
    const chunk = things.slice(at, at + PAGE)
    const entities = await collection.getMany(chunk.map(idOf))
    pairs.push(...chunk.map((thing, i): [Thing, Entity | undefined] => [thing, entities[i]]))
  }
  return pairs
}

/** Returns so many of the items, evenly among all. */
function spread<Item>(items: readonly Item[], count: number): readonly Item[] {
  if (items.length <= count) return items
  return Array.from({ length: count }, (_, i) => items[Math.floor((i * items.length) / count)] as Item)
}
