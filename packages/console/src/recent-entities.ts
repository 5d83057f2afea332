import { formatId, isLooseleafError, type Bag, type EntityPageRow } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import { asked } from './asked.ts'
import { markup, type Html } from './html.ts'
import { entityLink, isShown, type MayShow } from './showing.ts'
import { moment, noteOf, table } from './table.ts'
import { byteText, counted, exactTimeText } from './text.ts'
import { valueText } from './value-text.ts'

/** Entities of the list, and shards that are asked for them. */
const MOST = 20
/** Entities that are read of each shard, since many may be deleted: a cleaning leaves tombstones of ids that nobody has. */
const MOST_READ = 100
/** Of the list, while there are others. */
const MAX_DELETED = 5
const MAX_SHARDS = 16
/** Bytes of a body that is read for the kind in it: those of all shards are in memory together. */
const MAX_BODY = 4096

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
          entities.pageByUpdated({ since: 0 }, MOST_READ, {
            signal: limited,
            maxBody: mayShow === undefined ? 0 : MAX_BODY,
          }),
        signal,
      ),
    ),
  )
  const read = pages
    .flatMap(({ value = [] }, i) => value.map((row) => ({ ...row, shard: shards[i]?.name ?? '' })))
    .toSorted((a, b) => b.updated - a.updated)
  const [rows, passed] = mostlyLiving(read)
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
${silent.map((failure) => markup`<p>What is on ${failure}</p>`)}${noteOf(left > 0 ? `${counted(left, 'more shard')} not asked.` : '')}${noteOf(passed > 0 ? `${counted(passed, 'deleted entity', 'deleted entities')} written since not shown.` : '')}`
}

/** The newest, of which few are deleted unless there is nothing else, in their order; and how many deleted ones between them are left out. */
function mostlyLiving<T extends EntityPageRow>(read: readonly T[]): readonly [T[], number] {
  let deleted = 0
  const isKept = new Map(read.map((row) => [row, row.bodyBytes > 0 || ++deleted <= MAX_DELETED]))
  const [kept, left] = [true, false].map((is) => read.filter((row) => isKept.get(row) === is))
  const rows = new Set([...(kept ?? []), ...(left ?? [])].slice(0, MOST))
  const shown = read.filter((row) => rows.has(row))
  const span = read.findLastIndex((row) => rows.has(row)) + 1
  return [shown, span - shown.length]
}

function cells({ updated, bodyBytes }: EntityPageRow): (Html | string)[] {
  const written = exactTimeText(new Date(updated / 1000))
  return [moment(written), bodyBytes === 0 ? 'deleted' : byteText(bodyBytes)]
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
