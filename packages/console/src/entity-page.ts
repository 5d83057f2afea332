import { isLooseleafError, type Bag } from '@looseleaf/core'
import {
  inspectEntity,
  type DataStore,
  type InspectedEntity,
  type InspectedRow,
  type StoredEntity,
} from '@looseleaf/store'
import { hexDump } from './hex-dump.ts'
import { markup, type Html } from './html.ts'
import { recentEntities } from './recent-entities.ts'
import type { Answer, Ask } from './routes.ts'
import { isShown, keyText, tableAddress, type MayShow } from './showing.ts'
import { byteText, counted, cut, exactTimeText } from './text.ts'
import { typeOf, valueText } from './value-text.ts'
import { long, noteOf, table } from './table.ts'

/** Of a body, of a bag and of its index rows, what is shown at the most. */
const MAX_BYTES = 512
const MAX_PROPERTIES = 100
const MAX_ROWS = 200

export interface EntityPageOptions {
  readonly store: Pick<DataStore, 'context'>
  readonly base: string
  readonly mayShow: MayShow | undefined
}

/** An entity by its id, in the path or from the form. */
export async function entityPage(
  { store, base, mayShow }: EntityPageOptions,
  { rest, query, signal }: Ask,
): Promise<Answer> {
  const asked = (rest || (query.get('id') ?? '')).trim()
  const form = idForm(base, asked)
  if (asked === '') {
    const body = markup`<h1>Entities</h1>
<p class="lead">How an entity is stored, byte by byte, and each of its index rows.</p>${form}
${await recentEntities({ context: store.context, base, mayShow }, signal)}`
    return { status: 200, title: 'Entities', body }
  }
  const found = await inspectEntity(store.context, asked, { signal }).catch((error: unknown) => {
    if (isLooseleafError(error, 'BAD_ID')) return error.message
    throw error
  })
  if (typeof found === 'string')
    return { status: 400, title: 'Not an id', body: markup`<h1>Not an id</h1><p>${found}</p>${form}` }
  if (found.stored === undefined && found.rows.length === 0) {
    const body = markup`<h1>Not found</h1><p>There is no row of ${found.id} on its shard, ${found.shard}: no entity, and no tombstone of one.</p>${form}`
    return { status: 404, title: 'Not found', body }
  }
  const isPublic = isShown(mayShow, found.stored?.bag, found.id)
  return {
    status: 200,
    title: `Entity ${found.id}`,
    body: entityBody(found, isPublic, base, store.context.router.buckets?.shards.length),
  }
}

function idForm(base: string, id: string): Html {
  return markup`<form action="${base}/entity" method="get"><label for="id">The id of an entity</label>
<input id="id" name="id" value="${id.slice(0, 100)}" placeholder="0192f0c1-7c1e-7abc-8def-0123456789ab" autocomplete="off" spellcheck="false" required> <button>Show</button></form>`
}

function entityBody(
  { id, shard, bucket, stored, rows }: InspectedEntity,
  isPublic: boolean,
  base: string,
  buckets: number | undefined,
): Html {
  return markup`<h1>Entity ${id}</h1>
<p class="lead">${stored === undefined ? 'It is not there, not even as a tombstone.' : leadOf(stored)}</p>
${stored?.bag !== undefined && !isPublic ? markup`<p>Its values are not shown: the application has not said that they may be.</p>` : undefined}
<dl><dt>shard</dt><dd>${shard}</dd>${bucket === undefined ? undefined : markup`<dt>bucket</dt><dd>${bucket.toLocaleString('en-US')} of ${buckets?.toLocaleString('en-US')}</dd>`}
${stored === undefined ? undefined : markup`<dt>version</dt><dd>${stored.version} (${timeOf(stored.version / 1000)})</dd><dt>updated</dt><dd>${exactTimeText(stored.updated)} by the database’s clock</dd>`}</dl>
${stored?.bag === undefined ? undefined : bagSection(stored.bag, isPublic)}
${stored?.body ? bodySection(stored, stored.body, isPublic) : undefined}
${rowsSection(rows, isPublic, base)}
<h2>Another one</h2>${idForm(base, '')}`
}

function leadOf({ body, failure }: StoredEntity): string {
  if (failure !== undefined) return `Its body cannot be read: ${failure.message}`
  if (body === null) return 'It is deleted. Its tombstone stays, so that nothing late can bring it back.'
  return 'One row of the table entities, with its bag as one body, and a row for each key in each index.'
}

/** Versions are microseconds of a clock, as far as their writers have one that is right. */
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
  return markup`<h2>Body</h2><dl>${layout === undefined ? markup`<dt>stored</dt><dd>${byteText(body.length)}</dd>` : layoutFacts(layout, body.length)}</dl>
${isPublic ? bytesOf(body) : markup`<p>The bytes are not shown.</p>`}`
}

function layoutFacts(layout: NonNullable<StoredEntity['layout']>, bytes: number): Html {
  const { format, compression, headerBytes, plainBytes, shape, dictionary } = layout
  const payload = bytes - headerBytes
  const compressed =
    compression === 'none' ? 'not compressed' : compression === 'zlib' ? 'zlib' : 'deflate with a dictionary'
  return markup`<dt>stored</dt><dd>${byteText(bytes)}: ${headerBytes} of the envelope (format, flags, length, checksum${shape === undefined && dictionary === undefined ? '' : ', what it refers to'}), ${payload.toLocaleString('en-US')} of the payload</dd>
<dt>format</dt><dd>${format}</dd><dt>compression</dt><dd>${compressed}${compression === 'none' ? '' : `: ${payload.toLocaleString('en-US')} bytes instead of ${plainBytes.toLocaleString('en-US')}`}</dd>
${shape === undefined ? undefined : markup`<dt>shape</dt><dd>${shape}: the names of the properties are stored once for the store, not here</dd>`}
${dictionary === undefined ? undefined : markup`<dt>dictionary</dt><dd>${dictionary}</dd>`}`
}

function bytesOf(body: Uint8Array): Html {
  const left = body.length - MAX_BYTES
  return markup`<pre tabindex="0" role="region" aria-label="Bytes of the body">${hexDump(body.subarray(0, MAX_BYTES))}</pre>
${left > 0 ? markup`<p class="soft">The first ${MAX_BYTES} bytes; ${left.toLocaleString('en-US')} more not shown.</p>` : undefined}`
}

function rowsSection(rows: readonly InspectedRow[], isPublic: boolean, base: string): Html {
  if (rows.length === 0) return markup`<h2>Index rows</h2><p>No index has rows of it.</p>`
  const expected = rows.filter(({ isExpected }) => isExpected === true)
  const silent = [...new Set(rows.flatMap(({ shard, failure }) => (failure === undefined ? [] : [shard])))]
  const absent = expected.filter(
    ({ version, failure }) => version === undefined && failure === undefined,
  ).length
  const unknown = expected.filter(({ failure }) => failure !== undefined).length
  const has =
    unknown === 0
      ? expected.length === 0
        ? 'no rows'
        : `${counted(expected.length, 'row')}; ${absent === 0 ? 'none is' : counted(absent, 'of them is', 'of them are')} absent`
      : `${counted(expected.length, 'row')}: ${expected.length - absent - unknown} present, ${absent} absent, ${unknown} not known`
  const isKnown = rows.every(({ isExpected }) => isExpected !== undefined)
  const over = rows.filter(({ isExpected }) => isExpected === false).length
  const { shown, note } = cut(rows, MAX_ROWS, 'row')
  return markup`<h2>Index rows</h2>
<p>${isKnown ? `It has to have ${has}.` : 'Its body cannot be read, so nobody knows which rows it has to have.'}${over === 0 ? '' : ` ${counted(over, 'row')} ${over === 1 ? 'is' : 'are'} left over.`}${silent.length === 0 ? '' : ` What is on ${silent.join(', ')} is not known.`}</p>
${table(
  ['index', 'there', 'key', 'shard', 'stamp', 'what', 'table'],
  shown.map((row) => [
    markup`<a href="${tableAddress(base, row.index, row.table)}">${row.index}</a>${row.generation > 1 ? ` ${row.generation}` : ''}`,
    thereText(row),
    // Of a row that is left over nobody can say any more whether its entity, as it was then, may be shown.
    keyText(isPublic && row.isExpected ? row.key : undefined),
    row.shard,
    row.version === undefined ? '' : `${row.version}`,
    row.isClaim ? 'claim (unique)' : 'row',
    row.table,
  ]),
  'Index rows',
)}${noteOf(note)}
${over === 0 ? undefined : markup`<p class="soft">A row that is left over leads to nothing: queries check the entity, and the row goes when no query needs it, or with the next cleaning.</p>`}`
}

function thereText({ isExpected, version, state, failure, isPending }: InspectedRow): Html {
  if (failure !== undefined) return long(`not known: ${failure.message}`)
  if (isExpected === undefined) return markup`there; nobody knows whether it belongs to it`
  if (!isExpected) return markup`left over`
  if (version !== undefined) return markup`<span class="yes">✓ present</span>`
  return markup`<span class="no">✗ absent</span>${isPending ? ', pending: a cleaner will write it' : state === 'building' ? ', the index is being filled' : ''}`
}
