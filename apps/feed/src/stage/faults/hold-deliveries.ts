import { setTimeout as sleep } from 'node:timers/promises'
import type { ActContext } from '@looseleaf/console'
import { capital, counted } from '@looseleaf/console/kit'
import type { LoopControl } from '../../domain/site/loop.ts'
import type { Entry } from '../../kinds/entry.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import { holdLoop } from './hold-loop.ts'
import { recipientsOf } from '../deliveries/recipients.ts'

/** Newest entries that are compared. */
const MOST_ENTRIES = 500
/** Milliseconds in which all entries should be delivered after the start. */
const CATCH_UP_MS = 20_000
const LOOK_MS = 250

/** The inbox items of some entries, compared with those that their channels should bring. */
export interface ComparedDeliveries {
  readonly entries: number
  /** Number of items that should exist: one per entry and follower. */
  readonly expected: number
  /** Number of missing items. */
  readonly lost: number
  /** Number of items beyond the first of a person and an entry. */
  readonly twice: number
}

/**
 * Compares the items of entries that have arrived since a time with their followers, one by one. Looks at the 500 entries with the
 * latest times of publication.
 */
export async function compareDeliveries(data: SiteData, since: Date): Promise<ComparedDeliveries> {
  const entries = await arrivedSince(data, since)
  const sum = { entries: entries.length, expected: 0, lost: 0, twice: 0 }
  for (const entry of entries) {
    const items = new Map<string, number>()
    for await (const { person_id } of data.inbox.byEntry.each({ entry_id: entry.id }))
      items.set(person_id, (items.get(person_id) ?? 0) + 1)
    const people = await recipientsOf(data, entry)
    sum.expected += people.size
    for (const person of people) if (!items.has(person)) sum.lost++
    for (const count of items.values()) sum.twice += count - 1
  }
  return sum
}

async function arrivedSince({ entries }: SiteData, since: Date): Promise<readonly Entry[]> {
  const { items } = await entries.byTime.page({}, { order: 'desc', limit: MOST_ENTRIES, scatter: true })
  return items.filter(({ arrived, quiet }) => arrived >= since && !quiet)
}

/** Holds the deliveries of this process, and counts what was lost or delivered twice once they have caught up. */
export async function holdDeliveries(
  data: SiteData,
  deliveries: LoopControl,
  ms: number,
  context: ActContext,
): Promise<void> {
  const { showProgress, setOutcome } = context
  const since = new Date()
  await holdLoop(deliveries, ms, context, async () => {
    const { entries, lost } = await compareDeliveries(data, since)
    return `${counted(entries, 'entry', 'entries')} came meanwhile, ${counted(lost, 'inbox item')} missing so far`
  })
  showProgress('it runs again and catches up')
  const end = Date.now() + CATCH_UP_MS
  let compared = await compareDeliveries(data, since)
  while (compared.lost > 0 && Date.now() < end) {
    await sleep(LOOK_MS)
    compared = await compareDeliveries(data, since)
  }
  const { entries, expected, lost, twice } = compared
  setOutcome(
    `It runs again. ${capital(counted(entries, 'entry', 'entries'))} came meanwhile, for ${counted(expected, 'inbox', 'inboxes')}: ${lost} lost, ${twice} twice.`,
  )
}
