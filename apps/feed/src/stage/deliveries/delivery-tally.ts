import type { Entity } from 'looseleaf'
import type { Entry } from '../../kinds/entry.ts'
import type { InboxItem } from '../../kinds/inbox-item.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import { recipientsOf } from './recipients.ts'

/** Milliseconds for which a delivered entry is kept, to notice a second item of a person. */
const KEEP_MS = 10 * 60_000
/** New entries, and late ones, whose followers are read together. */
const NEW_AT_ONCE = 100
const LATE_AT_ONCE = 20
/** Milliseconds after which an entry with missing items is read again. */
const AGAIN_MS = 3_000

/** Sums over all entries that came since the start of the tally. */
export interface DeliveryCounts {
  readonly expected: number
  readonly delivered: number
  readonly twice: number
}

/** Compares the inbox items of new entries with the followers, by the changes of the store. */
export interface DeliveryTally {
  /** Takes a changed entity, or a deletion. Returns true for an entry that is new. */
  add(id: string, entity: Entity | undefined): boolean
  /**
   * Reads the followers of new entries. Reads those of late entries again, because a person who has unfollowed meanwhile gets no item, and their
   * items too.
   */
  settle(): Promise<void>
  counts(): DeliveryCounts
}

/** The known facts about an entry. An item may be seen before its entry, because they are on different shards. */
interface Tracked {
  readonly since: number
  /** Time at which its followers were read last. */
  readAt: number
  entry: Entry | undefined
  /** Undefined until the followers were read. */
  expected: ReadonlySet<string> | undefined
  /** Ids of items, by person. */
  readonly items: Map<string, Set<string>>
}

export function createDeliveryTally(data: SiteData, now: () => number = Date.now): DeliveryTally {
  const start = now()
  const tracked = new Map<string, Tracked>()
  const past = { expected: 0, delivered: 0, twice: 0 }

  const isNew = (arrived: Date): boolean => arrived.getTime() >= Math.max(start, now() - KEEP_MS)

  function track(id: string): Tracked {
    const known = tracked.get(id)
    if (known !== undefined) return known
    const fresh: Tracked = {
      since: now(),
      readAt: 0,
      entry: undefined,
      expected: undefined,
      items: new Map(),
    }
    tracked.set(id, fresh)
    return fresh
  }

  function addEntry(entry: Entry): boolean {
    if (entry.removed !== undefined) tracked.delete(entry.id)
    if (entry.removed !== undefined || entry.quiet || !isNew(entry.arrived)) return false
    const known = track(entry.id)
    const isFirst = known.entry === undefined
    known.entry ??= entry
    return isFirst
  }

  function add(id: string, entity: Entity | undefined): boolean {
    if (entity === undefined) {
      // Its items are deleted, too. The deletion of an item alone does not undo its delivery.
      tracked.delete(id)
      return false
    }
    const entry = data.entries.itemOf(entity)
    if (entry !== undefined) return addEntry(entry)
    const item = data.inbox.itemOf(entity)
    if (item === undefined || !isNew(item.arrived)) return false
    addItem(track(item.entry_id), item)
    return false
  }

  async function readAgain(each: Tracked): Promise<void> {
    const { entry, expected } = each
    if (entry === undefined) return
    each.readAt = now()
    each.expected = await recipientsOf(data, entry)
    if (expected === undefined) return
    for await (const item of data.inbox.byEntry.each({ entry_id: entry.id })) addItem(each, item)
  }

  async function settle(): Promise<void> {
    const missing = [...tracked.values()].filter(isMissing)
    const fresh = missing.filter(({ expected }) => expected === undefined)
    const late = missing.filter(({ expected, readAt }) => expected !== undefined && now() - readAt > AGAIN_MS)
    // Reads of many entries at once share statements.
    await Promise.all([...fresh.slice(0, NEW_AT_ONCE), ...late.slice(0, LATE_AT_ONCE)].map(readAgain))
    for (const [id, each] of tracked) {
      if (now() - each.since <= KEEP_MS || isMissing(each)) continue
      const { expected, delivered, twice } = countsOf(each)
      past.expected += expected
      past.delivered += delivered
      past.twice += twice
      tracked.delete(id)
    }
  }

  return {
    add,
    settle,
    counts() {
      const sum = { ...past }
      for (const each of tracked.values()) {
        const { expected, delivered, twice } = countsOf(each)
        sum.expected += expected
        sum.delivered += delivered
        sum.twice += twice
      }
      return sum
    },
  }
}

function addItem({ items }: Tracked, { id, person_id }: Pick<InboxItem, 'id' | 'person_id'>): void {
  items.set(person_id, (items.get(person_id) ?? new Set<string>()).add(id))
}

/** Tells whether the followers of an entry are unknown, or some of them have no item yet. */
function isMissing({ entry, expected, items }: Tracked): boolean {
  return entry !== undefined && (expected === undefined || [...expected].some((person) => !items.has(person)))
}

function countsOf({ expected = new Set<string>(), items }: Tracked): DeliveryCounts {
  let [delivered, twice] = [0, 0]
  for (const person of expected) if (items.has(person)) delivered++
  for (const ids of items.values()) twice += ids.size - 1
  return { expected: expected.size, delivered, twice }
}
