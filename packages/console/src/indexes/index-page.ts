import type { CatalogEntry, ShardSizes } from '@looseleaf/core/internal'
import { presentEntries, presentNumbers } from '@looseleaf/index-engine/internal'
import { inspectIndexRows, type InspectedIndexRow, type InspectedIndexRows } from '@looseleaf/store/internal'
import { readPart, readSizes, type PartResult } from '../requests/read-part.ts'
import { markup, type Html } from '../kit/html.ts'
import { definitionFacts, stateText } from './index-text.ts'
import type { KeptPlaces } from './kept-places.ts'
import { purposeOf, type Purposes } from './purposes.ts'
import { notFound, type Answer, type PageRequest } from '../requests/routes.ts'
import type { ShownStore } from '../requests/shown-store.ts'
import { entityLink, hiddenReason, isShown, keyText, tableAddress } from '../entities/visibility.ts'
import { bytesText, capital, counted, cut } from '../kit/text.ts'
import { noteOf, table } from '../kit/table.ts'
import type { Link } from '../kit/page.ts'

const PAGE_ROWS = 25
const MAX_SHARDS = 64

interface IndexPageOptions extends ShownStore {
  readonly places: KeptPlaces
  readonly purposes: Purposes
}

/** Renders the page of an index: its definition, its size, and the rows of one of its tables on one shard. */
export async function indexPage(
  options: IndexPageOptions,
  { rest, query, signal }: PageRequest,
): Promise<Answer> {
  const { store, base, places } = options
  const { driver, catalog } = store.context
  const entries = (await catalog.reload({ signal })).indexes.filter(({ name }) => name === rest)
  const tableName = query.get('table')
  // Without a table, the rows of the generation that queries read.
  const entry =
    tableName === null
      ? (entries.find(({ state, unique }) => state === 'ready' && !unique) ?? entries[0])
      : entries.find((each) => each.table === tableName)
  if (entry === undefined) return notFound('There is no such index.')
  const shard = Number(query.get('shard') ?? presentNumbers(driver)[0])
  const word = query.get('after')
  const scope = `${entry.table} ${shard}`
  const after = word === null ? undefined : places.find(scope, word)
  const present = presentEntries(driver)
  if (!present.some(([number]) => number === shard)) return notFound('There is no such shard.')
  if (word !== null && after === undefined)
    return notFound('This place in the index was dropped. Start again at the first rows.')
  const [rows, sizes] = await Promise.all([
    readPart(
      (limited) =>
        inspectIndexRows(store.context, { entry, shard, after, limit: PAGE_ROWS }, { signal: limited }),
      signal,
    ),
    readSizes(driver, signal),
  ])
  const shards = cut(present, MAX_SHARDS, 'shard')
  const address = tableAddress(base, rest, entry.table)
  const body = markup`<h1>Index ${rest}</h1>${purposeOf(options.purposes, rest)}${entries.map((each) => definition(each, sizes))}
<h2>${entry.unique ? 'Claims' : 'Rows'} in the order of the key: ${entry.table}</h2>
${
  entries.length < 2
    ? undefined
    : choices(
        'Tables',
        entries.map((each) => ({
          href: tableAddress(base, rest, each.table),
          label: each.table,
          isCurrent: each === entry,
        })),
      )
}
${choices(
  'Shards',
  shards.shown.map(([number, { name }]) => ({
    href: `${address}&shard=${number}`,
    label: name,
    isCurrent: number === shard,
  })),
)}
${noteOf(shards.note)}
${rows.failure === undefined ? rowsPart(rows.value, options, `${address}&shard=${shard}`, scope, after !== undefined) : markup`<p>${rows.failure}</p>`}`
  return { status: 200, title: `Index ${rest}`, body }
}

function definition(entry: CatalogEntry, sizes: readonly PartResult<ShardSizes | undefined>[]): Html {
  const { generation, table: name, unique } = entry
  const known = sizes.flatMap(({ value }) => value?.tables.get(name) ?? [])
  const sum = (field: 'rows' | 'bytes'): number => known.reduce((total, size) => total + size[field], 0)
  return markup`<h2>${unique ? 'Claims' : 'Definition'}, generation ${generation}</h2>
<dl>${definitionFacts(entry)}<dt>state</dt><dd>${stateText(entry)}</dd><dt>table</dt><dd>${name}, on ${counted(sizes.length, 'shard')}</dd>
<dt>size</dt><dd>${known.length === 0 ? 'unknown: the database has no statistics; SQLite would have to read its whole file' : `about ${counted(sum('rows'), 'row')} in ${bytesText(sum('bytes'))}, from the statistics of ${counted(known.length, 'shard')}`}</dd></dl>`
}

function choices(label: string, all: readonly (Link & { readonly isCurrent: boolean })[]): Html {
  return markup`<nav aria-label="${label}"><ul class="choices">${all.map(({ href, label: name, isCurrent }) => markup`<li><a href="${href}"${isCurrent ? markup` aria-current="page"` : undefined}>${name}</a></li>`)}</ul></nav>`
}

function rowsPart(
  { rows, next }: InspectedIndexRows,
  { base, mayShow, places }: IndexPageOptions,
  address: string,
  scope: string,
  isLater: boolean,
): Html {
  const links = [
    ...(isLater ? [markup`<a href="${address}">The first rows</a>`] : []),
    ...(next === undefined
      ? []
      : [markup`<a href="${address}&after=${places.keep(scope, next)}" rel="next">Next rows</a>`]),
  ]
  if (rows.length === 0) return markup`<p>This shard has no rows.</p>`
  // A key that its entity no longer has belongs to an earlier bag, which `mayShow` cannot judge any more.
  const isPublic = ({ entity, bag, isExpected }: InspectedIndexRow): boolean =>
    isExpected === true && isShown(mayShow, bag, entity)
  const hidden = rows.filter((row) => !isPublic(row)).length
  return markup`${table(
    ['key', 'leads to', 'entity', 'stamp'],
    rows.map((row) => [
      keyText(isPublic(row) ? row.key : undefined),
      leadsTo(row),
      entityLink(base, row.entity),
      `${row.version}`,
    ]),
    'Rows',
  )}<p>${links.map((link) => markup`${link} `)}</p>
${hidden === 0 ? undefined : markup`<p class="soft">${capital(counted(hidden, 'key'))} ${hidden === 1 ? 'is' : 'are'} not shown. ${mayShow === undefined ? hiddenReason(mayShow) : 'A key is shown if its row leads to its entity and mayShow of the application returns true for that entity.'}</p>`}`
}

function leadsTo({ bag, isExpected }: InspectedIndexRow): Html {
  if (isExpected === true) return markup`<span class="yes">✓ its entity</span>`
  if (isExpected === undefined) return markup`an entity that was not read`
  return markup`<span class="no">✗ nothing:</span> ${bag === undefined ? 'the entity does not exist' : 'the entity has other values'}`
}
