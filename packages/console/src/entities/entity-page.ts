import { isLooseleafError, type Bag } from '@looseleaf/core'
import {
  inspectEntity,
  type InspectedEntity,
  type InspectedRow,
  type StoredEntity,
} from '@looseleaf/store/internal'
import { hexDump } from './hex-dump.ts'
import { markup, type Html } from '../kit/html.ts'
import type { Link } from '../kit/page.ts'
import { recentEntities } from './recent-entities.ts'
import type { Answer, PageRequest } from '../requests/routes.ts'
import type { ShownStore } from '../requests/shown-store.ts'
import { hiddenReason, isShown, keyText, tableAddress } from './visibility.ts'
import { bytesText, capital, counted, cut, exactTimeText } from '../kit/text.ts'
import { typeOf, valueText } from './value-text.ts'
import { long, noteOf, table } from '../kit/table.ts'

/** Largest numbers of shown bytes of the body, properties of the bag, and index rows. */
const MAX_BYTES = 512
const MAX_PROPERTIES = 100
const MAX_ROWS = 200

/** Renders the page of an entity. Its id comes from the path or from the form. Without an id it lists the latest writes. */
export async function entityPage(shown: ShownStore, { rest, query, signal }: PageRequest): Promise<Answer> {
  const { store, base, mayShow, pageOf } = shown
  const requested = (rest || (query.get('id') ?? '')).trim()
  const form = idForm(base, requested)
  if (requested === '') {
    const body = markup`<h1>Entities</h1>
<p class="lead">The page of an entity shows its stored bytes and each of its index rows.</p>${form}
${await recentEntities(shown, signal)}`
    return { status: 200, title: 'Entities', body }
  }
  const found = await inspectEntity(store.context, requested, { signal }).catch((error: unknown) => {
    if (isLooseleafError(error, 'BAD_ID')) return error.message
    throw error
  })
  if (typeof found === 'string')
    return { status: 400, title: 'Not an id', body: markup`<h1>Not an id</h1><p>${found}</p>${form}` }
  if (found.stored === undefined && found.rows.length === 0) {
    const body = markup`<h1>Not found</h1><p>The shard ${found.shard} has no row of ${found.id}: no entity and no tombstone.</p>${form}`
    return { status: 404, title: 'Not found', body }
  }
  const bag = found.stored?.bag
  const isPublic = isShown(mayShow, bag, found.id)
  return {
    status: 200,
    title: `Entity ${found.id}`,
    body: entityBody(found, {
      hidden: isPublic ? undefined : hiddenReason(mayShow),
      page: isPublic ? pageOf?.(bag, found.id) : undefined,
      base,
      buckets: store.context.router.buckets?.shards.length,
    }),
  }
}

function idForm(base: string, id: string): Html {
  return markup`<form action="${base}/entity" method="get"><label for="id">The id of an entity</label>
<input id="id" name="id" value="${id.slice(0, 100)}" placeholder="0192f0c1-7c1e-7abc-8def-0123456789ab" autocomplete="off" spellcheck="false" required> <button>Show</button></form>`
}

interface EntityFrame {
  /** Reason why the values are hidden; undefined if they are shown. */
  readonly hidden: string | undefined
  /** Page of the application that shows the entity. */
  readonly page: Link | undefined
  readonly base: string
  /** Number of buckets of the store. */
  readonly buckets: number | undefined
}

function entityBody(
  { id, shard, bucket, stored, rows }: InspectedEntity,
  { hidden, page, base, buckets }: EntityFrame,
): Html {
  const isPublic = hidden === undefined
  return markup`<h1>Entity ${id}</h1>
<p class="lead">${stored === undefined ? 'Neither the entity nor a tombstone exists.' : leadOf(stored)}</p>
${page === undefined ? undefined : markup`<p><a href="${page.href}">${page.label}</a></p>`}
${stored?.bag === undefined || hidden === undefined ? undefined : markup`<p>Its values are hidden. ${hidden}</p>`}
<dl><dt>shard</dt><dd>${shard}</dd>${bucket === undefined ? undefined : markup`<dt>bucket</dt><dd>${bucket.toLocaleString('en-US')} of ${buckets?.toLocaleString('en-US')}</dd>`}
${stored === undefined ? undefined : markup`<dt>version</dt><dd>${stored.version} (${timeOf(stored.version / 1000)})</dd><dt>updated</dt><dd>${exactTimeText(stored.updated)} by the database’s clock</dd>`}</dl>
${stored?.bag === undefined ? undefined : bagSection(stored.bag, isPublic)}
${stored?.body ? bodySection(stored, stored.body, isPublic) : undefined}
${rowsSection(rows, isPublic, base)}
<h2>Another entity</h2>${idForm(base, '')}`
}

function leadOf({ body, failure }: StoredEntity): string {
  if (failure !== undefined) return `Its body cannot be read: ${failure.message}`
  if (body === null) return 'It is deleted. Its tombstone stays, so that no late write can restore it.'
  return 'It is one row of the table entities, with the bag as one body, and one row per key in each index.'
}

/** Formats a version as a time. Versions are microseconds of their writers' clocks, which may be wrong. */
function timeOf(milliseconds: number): string {
  const date = new Date(milliseconds)
  return Number.isNaN(date.getTime()) ? 'no time' : exactTimeText(date)
}

function bagSection(bag: Bag, isPublic: boolean): Html {
  const { shown, note } = cut(Object.keys(bag), MAX_PROPERTIES, 'property')
  const head = ['property', 'type', ...(isPublic ? ['value'] : [])]
  const rows = shown.map((name) => [
    long(name.slice(0, 200)),
    typeOf(bag[name]),
    ...(isPublic ? [markup`<code>${valueText(bag[name])}</code>`] : []),
  ])
  return markup`<h2>Bag</h2>${table(head, rows, 'Bag')}${noteOf(note)}`
}

function bodySection({ layout }: StoredEntity, body: Uint8Array, isPublic: boolean): Html {
  return markup`<h2>Body</h2><dl>${layout === undefined ? markup`<dt>stored</dt><dd>${bytesText(body.length)}</dd>` : layoutFacts(layout, body.length)}</dl>
${isPublic ? bytesOf(body) : markup`<p>The bytes are not shown.</p>`}`
}

function layoutFacts(layout: NonNullable<StoredEntity['layout']>, bytes: number): Html {
  const { format, compression, headerBytes, plainBytes, shape, dictionary } = layout
  const payload = bytes - headerBytes
  const compressed =
    compression === 'none' ? 'not compressed' : compression === 'zlib' ? 'zlib' : 'deflate with a dictionary'
  return markup`<dt>stored</dt><dd>${bytesText(bytes)}: ${headerBytes} of the envelope (format, flags, length, checksum${shape === undefined && dictionary === undefined ? '' : ', references'}), ${payload.toLocaleString('en-US')} of the payload</dd>
<dt>format</dt><dd>${format}</dd><dt>compression</dt><dd>${compressed}${compression === 'none' ? '' : `: ${payload.toLocaleString('en-US')} bytes instead of ${plainBytes.toLocaleString('en-US')}`}</dd>
${shape === undefined ? undefined : markup`<dt>shape</dt><dd>${shape}: the names of the properties are stored once for the whole store</dd>`}
${dictionary === undefined ? undefined : markup`<dt>dictionary</dt><dd>${dictionary}</dd>`}`
}

function bytesOf(body: Uint8Array): Html {
  const hiddenBytes = body.length - MAX_BYTES
  return markup`<pre tabindex="0" role="region" aria-label="Bytes of the body">${hexDump(body.subarray(0, MAX_BYTES))}</pre>
${hiddenBytes > 0 ? markup`<p class="soft">The first ${MAX_BYTES} bytes; ${hiddenBytes.toLocaleString('en-US')} more are not shown.</p>` : undefined}`
}

function rowsSection(rows: readonly InspectedRow[], isPublic: boolean, base: string): Html {
  if (rows.length === 0) return markup`<h2>Index rows</h2><p>No index has rows of this entity.</p>`
  const expected = rows.filter(({ isExpected }) => isExpected === true)
  const silent = [...new Set(rows.flatMap(({ shard, failure }) => (failure === undefined ? [] : [shard])))]
  const absent = expected.filter(
    ({ version, failure }) => version === undefined && failure === undefined,
  ).length
  const unknown = expected.filter(({ failure }) => failure !== undefined).length
  const counts =
    unknown === 0
      ? expected.length === 0
        ? 'no rows'
        : `${counted(expected.length, 'row')}; ${absent === 0 ? 'none is' : counted(absent, 'of them is', 'of them are')} absent`
      : `${counted(expected.length, 'row')}: ${expected.length - absent - unknown} present, ${absent} absent, ${unknown} unknown`
  const isKnown = rows.every(({ isExpected }) => isExpected !== undefined)
  const superfluous = rows.filter(({ isExpected }) => isExpected === false).length
  const { shown, note } = cut(rows, MAX_ROWS, 'row')
  return markup`<h2>Index rows</h2>
<p>${isKnown ? `It should have ${counts}.` : 'Its body cannot be read, so its expected rows are unknown.'}${superfluous === 0 ? '' : ` ${capital(counted(superfluous, 'row'))} ${superfluous === 1 ? 'is' : 'are'} superfluous.`}${silent.length === 0 ? '' : ` The rows on ${silent.join(', ')} are unknown.`}</p>
${table(
  ['index', 'state', 'key', 'shard', 'stamp', 'type', 'table'],
  shown.map((row) => [
    markup`<a href="${tableAddress(base, row.index, row.table)}">${row.index}</a>${row.generation > 1 ? ` ${row.generation}` : ''}`,
    rowStateText(row),
    // The key of a superfluous row belongs to an earlier bag, which `mayShow` cannot judge any more.
    keyText(isPublic && row.isExpected ? row.key : undefined),
    row.shard,
    row.version === undefined ? '' : `${row.version}`,
    row.isClaim ? 'claim (unique)' : 'row',
    row.table,
  ]),
  'Index rows',
)}${noteOf(note)}
${superfluous === 0 ? undefined : markup`<p class="soft">Queries discard a superfluous row, because they check the entity. It is deleted once no query needs it, or by the next cleaning.</p>`}`
}

function rowStateText({ isExpected, version, state, failure, isPending }: InspectedRow): Html {
  if (failure !== undefined) return long(`unknown: ${failure.message}`)
  if (isExpected === undefined) return markup`present; unknown whether the entity should have it`
  if (!isExpected) return markup`superfluous`
  if (version !== undefined) return markup`<span class="yes">✓ present</span>`
  return markup`<span class="no">✗ absent</span>${isPending ? ', pending: a cleaner will add it' : state === 'building' ? ', the index is being filled' : ''}`
}
