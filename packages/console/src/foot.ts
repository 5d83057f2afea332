import type { Driver } from '@looseleaf/core'
import { markup, type Html } from './html.ts'
import { counted, timeText } from './text.ts'

/** Shards that are named. */
const MOST = 4

/** What every page ends with: whose numbers these are, and where is said what they mean. */
export function footOf({ shards }: Driver): Html {
  const names = shards.slice(0, MOST).map(({ name }) => name)
  const more = shards.length - names.length
  const all = [...names, ...(more > 0 ? [`${more.toLocaleString('en-US')} more`] : [])].join(', ')
  return markup`<footer><p class="soft">Process ${process.pid} made this page at ${timeText(new Date())}. Its store has ${counted(shards.length, 'shard')}: ${all}.
What the numbers mean is in docs/observing.md of Looseleaf.</p></footer>`
}
