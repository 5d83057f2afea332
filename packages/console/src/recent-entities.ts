import { formatId, type EntityPageRow } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import { asked } from './asked.ts'
import { markup, type Html } from './html.ts'
import { entityLink } from './showing.ts'
import { noteOf, table } from './table.ts'
import { byteText, counted } from './text.ts'

/** Entities of the list, and shards that are asked for them. */
const MOST = 20
const MAX_SHARDS = 16

/** What was written last, whatever it is: its ids alone, for values are on the page of each. */
export async function recentEntities(
  { driver }: DataStore['context'],
  base: string,
  signal: AbortSignal,
): Promise<Html> {
  const shards = driver.shards.slice(0, MAX_SHARDS)
  const pages = await Promise.all(
    shards.map(({ entities }) =>
      asked((limited) => entities.pageByUpdated({ since: 0 }, MOST, { signal: limited, maxBody: 0 }), signal),
    ),
  )
  const rows = pages
    .flatMap(({ value = [] }, i) => value.map((row) => ({ ...row, shard: shards[i]?.name ?? '' })))
    .toSorted((a, b) => b.updated - a.updated)
    .slice(0, MOST)
  const silent = pages.flatMap(({ failure }, i) =>
    failure === undefined ? [] : [`${shards[i]?.name}: ${failure}`],
  )
  const left = driver.shards.length - shards.length
  return markup`<h2>Written last</h2>
${
  rows.length === 0
    ? markup`<p>Nothing has been written.</p>`
    : table(
        ['entity', 'written', 'body', 'shard'],
        rows.map((row) => cells(row, row.shard, base)),
        'Entities that were written last',
      )
}
${silent.map((failure) => markup`<p>What is on ${failure}</p>`)}${noteOf(left > 0 ? `${counted(left, 'more shard')} not asked.` : '')}`
}

function cells({ id, updated, bodyBytes }: EntityPageRow, shard: string, base: string): (Html | string)[] {
  const written = new Date(updated / 1000).toISOString()
  return [entityLink(base, formatId(id)), written, bodyBytes === 0 ? 'deleted' : byteText(bodyBytes), shard]
}
