import { presentShards, type StoreDriver } from '@looseleaf/index-engine/internal'
import { markup, type Html } from '../kit/html.ts'
import { counted, timeText } from '../kit/text.ts'

const MAX_NAMES = 4

/** Renders the footer of every page: the process and the store behind its numbers, and the document that explains them. */
export function footerOf(driver: StoreDriver): Html {
  const shards = presentShards(driver)
  const names = shards.slice(0, MAX_NAMES).map(({ name }) => name)
  const more = shards.length - names.length
  const all = [...names, ...(more > 0 ? [`${more.toLocaleString('en-US')} more`] : [])].join(', ')
  return markup`<footer><p class="soft">Process ${process.pid} made this page at ${timeText(new Date())}. Its store has ${counted(shards.length, 'shard')}: ${all}.
The document docs/observing.md of Looseleaf explains the numbers.</p></footer>`
}
