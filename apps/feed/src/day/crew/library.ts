import { freshEntry } from '../../domain/entries/fresh-entry.ts'
import { itemOf } from '../../domain/home/commands.ts'
import type { Site } from '../../domain/site/site.ts'
import { inboxItemId } from '../../kinds/inbox-item.ts'
import { createDice } from '../script/dice.ts'
import type { Crew } from './crew.ts'

/** Entries per batch of writes. */
const CHUNK = 1_000
/** Entries that share a link, on average. */
const PER_LINK = 4
/** Entries that each reader has at home. */
const AT_HOME = 200
/** Time between two entries. */
const APART_MS = 1_000

/** Writes so many old entries by the people of a crew, each with a link that some share, and fills the homes of the readers with the newest ones. */
export async function seedEntries(
  { data, store }: Site,
  { people, readers }: Crew,
  count: number,
  onProgress: (entries: number) => void,
): Promise<void> {
  const dice = createDice(count)
  const now = Date.now()
  for (let at = 0; at < count; at += CHUNK) {
    const entries = Array.from({ length: Math.min(CHUNK, count - at) }, (_, i) => {
      const number = at + i
      const arrived = new Date(now - (count - number) * APART_MS)
      const facts = {
        title: `Entry ${number}`,
        link: `https://example.org/pages/${dice.below(Math.ceil(count / PER_LINK))}`,
        person_id: dice.pick(people),
        published: arrived,
        quiet: true,
      }
      return { id: store.newId(), ...freshEntry(facts, arrived) }
    })
    await data.entries.putMany(entries)
    onProgress(at + entries.length)
    if (count - at > CHUNK) continue
    const newest = entries.slice(-AT_HOME)
    for (const reader of readers)
      await data.inbox.putMany(
        newest.map((entry) => ({
          id: inboxItemId(reader, entry.id),
          ...itemOf(entry, reader, [entry.channel_id], entry.arrived),
        })),
      )
  }
}
