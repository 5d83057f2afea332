import { formatId, isLooseleafError, type Bag } from '@looseleaf/core'
import type { EntityPageRow } from '@looseleaf/core/internal'
import { presentEntries } from '@looseleaf/index-engine/internal'
import type { DataStore } from '@looseleaf/store'
import { readPart } from '../requests/read-part.ts'
import type { MayShow, ShownStore } from '../requests/shown-store.ts'
import { markup, type Html } from '../kit/html.ts'
import { entityLink, isShown } from './visibility.ts'
import { moment, noteOf, table } from '../kit/table.ts'
import { bytesText, capital, counted, exactTimeText } from '../kit/text.ts'
import { valueText } from './value-text.ts'

const MAX_ENTITIES = 20
/** Rows read per shard. It is larger than the list because many may be tombstones, which a cleaning writes for dangling rows. */
const MAX_READ = 100
/** Largest number of listed tombstones while there are other entities. */
const MAX_DELETED = 5
const MAX_SHARDS = 16
/** Largest body that is read to find the kind, in bytes. The bodies of all shards are in memory together. */
const MAX_BODY = 4096

/** Renders the latest writes, with ids and kinds. The page of an entity has its other values. */
export async function recentEntities(
  { store, base, mayShow }: ShownStore,
  signal: AbortSignal,
): Promise<Html> {
  const { driver, bodies } = store.context
  const present = presentEntries(driver)
  const shards = present.slice(0, MAX_SHARDS)
  const pages = await Promise.all(
    shards.map(([, { entities }]) =>
      readPart(
        (limited) =>
          entities.pageByUpdated({ since: 0 }, MAX_READ, {
            signal: limited,
            maxBody: mayShow === undefined ? 0 : MAX_BODY,
          }),
        signal,
      ),
    ),
  )
  const { layout, placement } = store.context.catalog.latest()
  // While a bucket moves, another shard has copies or leftovers of its entities.
  const isOwned = (id: Uint8Array, shard: number): boolean =>
    layout?.moves === undefined || placement.shardOfId(id) === shard
  const read = pages
    .flatMap(({ value = [] }, i) => {
      const [number, { name }] = shards[i]!
      return value.filter(({ id }) => isOwned(id, number)).map((row) => ({ ...row, shard: name }))
    })
    .toSorted((a, b) => b.updated - a.updated)
  const [rows, skipped] = mostlyLiving(read)
  const silent = pages.flatMap(({ failure }, i) =>
    failure === undefined ? [] : [`The writes on ${shards[i]![1].name} are unknown: ${failure}`],
  )
  const bags = await Promise.all(rows.map((row) => (mayShow === undefined ? undefined : bagOf(bodies, row))))
  const unreadShards = present.length - shards.length
  return markup`<h2>Latest writes</h2>
${
  rows.length === 0
    ? markup`<p>There were no writes yet.</p>`
    : table(
        ['entity', ...(mayShow === undefined ? [] : ['kind']), 'written', 'body', 'shard'],
        rows.map((row, i) => {
          const id = formatId(row.id)
          const kind = mayShow === undefined ? [] : [kindText(row, bags[i], mayShow)]
          return [markup`<span class="id">${entityLink(base, id)}</span>`, ...kind, ...cells(row), row.shard]
        }),
        'Latest writes',
      )
}
${silent.map((failure) => markup`<p>${failure}</p>`)}${noteOf(unreadShards > 0 ? `${capital(counted(unreadShards, 'more shard'))} not read.` : '')}${noteOf(skipped > 0 ? `${capital(counted(skipped, 'deleted entity', 'deleted entities'))} in this period not shown.` : '')}`
}

/** Returns the newest rows in their order, with few tombstones unless there is nothing else; and the number of skipped tombstones. */
function mostlyLiving<T extends EntityPageRow>(read: readonly T[]): readonly [T[], number] {
  let deleted = 0
  const isPreferred = new Map(read.map((row) => [row, row.bodyBytes > 0 || ++deleted <= MAX_DELETED]))
  const preferred = read.filter((row) => isPreferred.get(row))
  const others = read.filter((row) => !isPreferred.get(row))
  const rows = new Set([...preferred, ...others].slice(0, MAX_ENTITIES))
  const shown = read.filter((row) => rows.has(row))
  const span = read.findLastIndex((row) => rows.has(row)) + 1
  return [shown, span - shown.length]
}

function cells({ updated, bodyBytes }: EntityPageRow): (Html | string)[] {
  const written = exactTimeText(new Date(updated / 1000))
  return [moment(written), bodyBytes === 0 ? 'deleted' : bytesText(bodyBytes)]
}

/** Decodes the body of a row. Returns undefined for a tombstone, a body that was too large to read, and an undecodable one. */
async function bagOf(
  bodies: DataStore['context']['bodies'],
  { body, shard }: EntityPageRow & { readonly shard: string },
): Promise<Bag | undefined> {
  if (!body) return undefined
  try {
    return await bodies.decode(body, shard)
  } catch (error) {
    if (isLooseleafError(error)) return undefined
    throw error
  }
}

/** Returns the name of the entity's kind. It is a stored value, so `mayShow` decides about it. */
function kindText({ id, body }: EntityPageRow, bag: Bag | undefined, mayShow: MayShow): Html | string {
  if (bag === undefined) return body === null ? '' : 'not read'
  if (!isShown(mayShow, bag, formatId(id))) return markup`<span class="soft">not shown</span>`
  return bag['_kind'] === undefined ? '' : valueText(bag['_kind'])
}
