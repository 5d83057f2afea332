import type { CatalogEntry, ShardSizes } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import { askSizes } from './asked.ts'
import { markup, type Html } from './html.ts'
import { columnsText, onText, stateText } from './index-text.ts'
import type { Answer, Ask } from './routes.ts'
import { tableAddress } from './showing.ts'
import { byteText, counted, cut } from './text.ts'
import { noteOf, table } from './table.ts'

const MAX_INDEXES = 100
const MAX_KINDS = 50
/** Of a kind. */
const MAX_OF_KIND = 20

export interface IndexesPageOptions {
  readonly store: Pick<DataStore, 'context'>
  readonly base: string
}

/** All indexes, or those whose names have a text in them, and the kinds that they are of. */
export async function indexesPage(
  { store, base }: IndexesPageOptions,
  { query, signal }: Ask,
): Promise<Answer> {
  const { driver, catalog } = store.context
  const [{ indexes }, sizes] = await Promise.all([catalog.reload({ signal }), askSizes(driver, signal)])
  const text = (query.get('name') ?? '').trim()
  const found = indexes
    .filter(({ name }) => name.includes(text))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const { shown, note } = cut(found, MAX_INDEXES, 'index table')
  const values = sizes.flatMap(({ value }) => value ?? [])
  const body = markup`<h1>Indexes</h1>
<p class="lead">${counted(new Set(indexes.map(({ name }) => name)).size, 'index', 'indexes')} in ${counted(indexes.length, 'table')} on each of ${counted(driver.shards.length, 'shard')}. An index is a table of its own: a row for each key of each entity, written before the entity is.</p>
<form action="${base}/index" method="get"><label for="name">Part of a name</label>
<input id="name" name="name" value="${text.slice(0, 100)}" autocomplete="off" spellcheck="false"> <button>Find</button></form>
${
  shown.length === 0
    ? markup`<p>There are none.</p>`
    : table(
        ['index', 'columns', 'only for', 'state', 'sharded on', 'rows, about', 'bytes'],
        shown.map((entry) => indexRow(entry, base, values)),
        'Indexes',
      )
}${noteOf(note)}
<p class="soft">Rows and bytes are estimates of the databases’ statistics; “–” where they have none, as with SQLite, which would have to read its whole file for them.</p>
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
  return [
    markup`<a href="${tableAddress(base, name, of)}">${name}</a>${generation > 1 ? ` ${generation}` : ''}${unique ? ' (claims)' : ''}`,
    columnsText(entry),
    onText(entry),
    stateText(entry),
    shardOn,
    isKnown ? known.reduce((sum, { rows }) => sum + rows, 0).toLocaleString('en-US') : '–',
    isKnown ? byteText(known.reduce((sum, { bytes }) => sum + bytes, 0)) : '–',
  ]
}

/** An index of a kind is one of the entities whose `_kind` says so. */
function kindsPart(indexes: readonly CatalogEntry[], base: string): Html {
  const kinds = Map.groupBy(indexes, ({ on }) => on?.['_kind'])
  const named = [...kinds].filter(([kind]) => kind !== undefined)
  if (named.length === 0) return markup``
  const { shown, note } = cut(named, MAX_KINDS, 'kind')
  return markup`<h2>Kinds</h2>${table(
    ['kind', 'indexes'],
    shown.map(([kind, own]) => [
      `${kind}`,
      markup`${cut(own, MAX_OF_KIND, 'index').shown.map(({ name, table: of, unique }) => markup`<a href="${tableAddress(base, name, of)}">${name}</a>${unique ? ' (claims)' : ''} `)}${own.length > MAX_OF_KIND ? `and ${own.length - MAX_OF_KIND} more` : ''}`,
    ]),
    'Kinds',
  )}<p class="soft">${note} Kinds without an index are not known to the databases, and not in this list.</p>`
}
