import type { ShardStats, StoreStats } from '@looseleaf/store'
import { markup, type Html } from './html.ts'
import { counted } from './text.ts'
import { table } from './xray-page.ts'

/** What this process has sent to each shard, and how its connections are. */
export function shardsPage({ callsUnderWay, shards, removals, cache }: StoreStats): Html {
  return markup`<h1>Shards</h1>
<p class="lead">Since this process opened the store. ${counted(callsUnderWay, 'call')} ${callsUnderWay === 1 ? 'is' : 'are'} under way; ${counted(removals.kept, 'index row')} that entities have lost ${removals.kept === 1 ? 'waits' : 'wait'} until no query needs ${removals.kept === 1 ? 'it' : 'them'}.</p>
${cache === undefined ? undefined : markup`<p>The cache has ${counted(cache.entities, 'entity', 'entities')} in ${Math.round(cache.bytes / 1024).toLocaleString('en-US')} KiB; of ${counted(cache.hits + cache.misses, 'look-up')} it answered ${cache.hits.toLocaleString('en-US')}.</p>`}
${shards.map(shardSection)}`
}

function shardSection({ name, connections, lanes }: ShardStats): Html {
  return markup`<h2>${name}</h2>
${connections === undefined ? undefined : markup`<p>${connections.refusal ?? `${connections.open - connections.idle} of ${connections.open} connections are used, ${connections.limit} there may be; ${counted(connections.waiting, 'call')} ${connections.waiting === 1 ? 'waits' : 'wait'} for one.`}</p>`}
${
  lanes.length === 0
    ? markup`<p>Nothing has been sent to it.</p>`
    : table(
        ['lane', 'statements', 'items', 'items a statement', 'waiting'],
        lanes.map(({ table: of, kind, statements, items, waiting }) => [
          `${of} ${kind}`,
          statements.toLocaleString('en-US'),
          items.toLocaleString('en-US'),
          (items / Math.max(1, statements)).toFixed(1),
          `${waiting}`,
        ]),
      )
}`
}
