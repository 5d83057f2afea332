import { formatId, isLooseleafError, type Bag, type EntityPageRow } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import { asked } from './asked.ts'
import { markup, type Html } from './html.ts'
import { entityLink, isShown, type MayShow } from './showing.ts'
import { noteOf, table } from './table.ts'
import { byteText, counted } from './text.ts'
import { valueText } from './value-text.ts'

/** Entities of the list, and shards that are asked for them. */
const MOST = 20
const MAX_SHARDS = 16
/** Bytes of a body that is read for the kind in it: those of all shards are in memory together. */
const MAX_BODY = 8192

export interface RecentOptions {
  readonly context: DataStore['context']
  readonly base: string
  readonly mayShow: MayShow | undefined
}

/** What was written last, whatever it is, by ids and kinds: the other values are on the page of each. */
export async function recentEntities(
  { context, base, mayShow }: RecentOptions,
  signal: AbortSignal,
): Promise<Html> {
  const { driver, codec } = context
  const shards = driver.shards.slice(0, MAX_SHARDS)
  const pages = await Promise.all(
    shards.map(({ entities }) =>
      asked(
        (limited) =>
          entities.pageByUpdated({ since: 0 }, MOST, {
            signal: limited,
            maxBody: mayShow === undefined ? 0 : MAX_BODY,
          }),
        signal,
      ),
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
        ['entity', ...(mayShow === undefined ? [] : ['kind']), 'written', 'body', 'shard'],
        rows.map((row) => {
          const id = formatId(row.id)
          const kind = mayShow === undefined ? [] : [kindText(row, bagOf(codec, row), mayShow)]
          return [markup`<span class="id">${entityLink(base, id)}</span>`, ...kind, ...cells(row), row.shard]
        }),
        'Entities that were written last',
      )
}
${silent.map((failure) => markup`<p>What is on ${failure}</p>`)}${noteOf(left > 0 ? `${counted(left, 'more shard')} not asked.` : '')}`
}

function cells({ updated, bodyBytes }: EntityPageRow): string[] {
  return [new Date(updated / 1000).toISOString(), bodyBytes === 0 ? 'deleted' : byteText(bodyBytes)]
}

/** Undefined for a tombstone, for a large body, which is not read here, and for one that cannot be read. */
function bagOf(codec: DataStore['context']['codec'], { body }: EntityPageRow): Bag | undefined {
  if (!body) return undefined
  try {
    return codec.decode(body)
  } catch (error) {
    if (isLooseleafError(error)) return undefined
    throw error
  }
}

/** The name of its kind, which is a value like others. */
function kindText({ id, body }: EntityPageRow, bag: Bag | undefined, mayShow: MayShow): Html | string {
  if (bag === undefined) return body === null ? '' : 'not read'
  if (!isShown(mayShow, bag, formatId(id))) return markup`<span class="soft">not shown</span>`
  return bag['_kind'] === undefined ? '' : valueText(bag['_kind'])
}
