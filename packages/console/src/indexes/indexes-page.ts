import type { CatalogEntry, ShardSizes } from '@looseleaf/core/internal'
import { predicateText, presentShards } from '@looseleaf/index-engine/internal'
import { readSizes } from '../requests/read-part.ts'
import { markup, type Html } from '../kit/html.ts'
import { columnsText, stateText } from './index-text.ts'
import type { Answer, PageRequest } from '../requests/routes.ts'
import type { ShownStore } from '../requests/shown-store.ts'
import { tableAddress } from '../entities/visibility.ts'
import { bytesText, capital, counted, cut } from '../kit/text.ts'
import { noteOf, table } from '../kit/table.ts'

const MAX_INDEXES = 100
const MAX_KINDS = 50
const MAX_OF_KIND = 20

/** Renders the list of all indexes, or of indexes whose name contains a text, and of their kinds. */
export async function indexesPage(
  { store, base }: ShownStore,
  { query, signal }: PageRequest,
): Promise<Answer> {
  const { driver, catalog } = store.context
  const [{ indexes }, sizes] = await Promise.all([catalog.reload({ signal }), readSizes(driver, signal)])
  const text = (query.get('name') ?? '').trim()
  const found = indexes
    .filter(({ name }) => name.includes(text))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const { shown, note } = cut(found, MAX_INDEXES, 'index table')
  const values = sizes.flatMap(({ value }) => value ?? [])
  const body = markup`<h1>Indexes</h1>
<p class="lead">${capital(counted(new Set(indexes.map(({ name }) => name)).size, 'index', 'indexes'))} in ${counted(indexes.length, 'table')} on each of ${counted(presentShards(driver).length, 'shard')}. An index is a table of its own, with one row per key of each entity. Its rows are written before the entity.</p>
<form action="${base}/index" method="get"><label for="name">Part of a name</label>
<input id="name" name="name" value="${text.slice(0, 100)}" autocomplete="off" spellcheck="false"> <button>Find</button></form>
${
  shown.length === 0
    ? markup`<p>No index found.</p>`
    : table(
        ['index', 'columns', 'only for', 'state', 'sharded on', 'rows, about', 'bytes'],
        shown.map((entry) => indexRow(entry, base, values)),
        'Indexes',
      )
}${noteOf(note)}
<p class="soft">${values.some(({ tables }) => tables.size > 0) ? 'Rows and bytes are estimates from the databases’ statistics. “–” means that a database has none.' : 'The databases have no statistics of rows and bytes: SQLite would have to read its whole file.'}</p>
${kindsPart(indexes, base)}`
  return { status: 200, title: 'Indexes', body }
}

function indexRow(
  entry: CatalogEntry,
  base: string,
  sizes: readonly ShardSizes[],
): readonly (Html | string)[] {
  const { name, generation, table: of, shardOn, unique } = entry
  const known = sizes.flatMap(({ tables }) => tables.get(of) ?? [])
  const isKnown = known.length > 0
  // Empty columns are left out, so they are not full of dashes without any statistics.
  const unknown = sizes.some(({ tables }) => tables.size > 0) ? '–' : ''
  return [
    markup`<a href="${tableAddress(base, name, of)}">${name}</a>${generation > 1 ? ` ${generation}` : ''}${unique ? ' (claims)' : ''}`,
    columnsText(entry),
    predicateText(entry.on ?? {}),
    stateText(entry),
    shardOn,
    isKnown ? known.reduce((sum, { rows }) => sum + rows, 0).toLocaleString('en-US') : unknown,
    isKnown ? bytesText(known.reduce((sum, { bytes }) => sum + bytes, 0)) : unknown,
  ]
}

/** Renders the indexes by kind. An index of a kind has a condition on `_kind`. */
function kindsPart(indexes: readonly CatalogEntry[], base: string): Html {
  const kinds = Map.groupBy(indexes, ({ on }) => on?.['_kind'])
  const named = [...kinds].filter(([kind]) => kind !== undefined)
  if (named.length === 0) return markup``
  const { shown, note } = cut(named, MAX_KINDS, 'kind')
  return markup`<h2>Kinds</h2>${table(
    ['kind', 'indexes'],
    shown.map(([kind, indexesOfKind]) => [
      `${kind}`,
      markup`${cut(indexesOfKind, MAX_OF_KIND, 'index').shown.map(({ name, table: of, unique }) => markup`<a href="${tableAddress(base, name, of)}">${name}</a>${unique ? ' (claims)' : ''} `)}${indexesOfKind.length > MAX_OF_KIND ? `and ${indexesOfKind.length - MAX_OF_KIND} more` : ''}`,
    ]),
    'Kinds',
  )}<p class="soft">${note} The databases do not know kinds without an index, so they are not listed.</p>`
}
