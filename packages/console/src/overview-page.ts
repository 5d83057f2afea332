import { tableKind } from '@looseleaf/core'
import type { StoreStats } from '@looseleaf/store'
import type { ShardStats } from '@looseleaf/store/internal'
import { markup, type Html } from './html/html.ts'
import type { Link } from './html/page.ts'
import { counted } from './html/text.ts'

const WIDTH = 940
const SHARD_X = 280
const ROW = 76
const BOX = 52
/** Largest number of drawn shards. Further shards are counted. */
const MAX_SHARDS = 8

export interface SuggestionOptions {
  readonly home: Link | undefined
  readonly hasXrays: boolean
  /** True if indexes can be added. */
  readonly mayAdd: boolean
  /** True if the console has the page `Break it`. */
  readonly mayBreak: boolean
}

/** Returns suggestions for a first visit, limited to the pages of this console. */
export function suggestionsFor(
  base: string,
  { home, hasXrays, mayAdd, mayBreak }: SuggestionOptions,
): readonly Html[] {
  return [
    ...(home === undefined || !hasXrays
      ? []
      : [
          markup`Load <a href="${home.href}">a page of ${home.label}</a>, and find it in the <a href="${base}/xray">X-rays</a>: its few statements, and the shard of each.`,
        ]),
    ...(mayAdd
      ? [
          markup`<a href="${base}/live">Add an index</a> during reads and writes: nothing is locked, and the plot shows the effect on their latency.`,
        ]
      : []),
    ...(mayBreak
      ? [
          markup`<a href="${base}/faults">Break it</a>: plant dangling index rows, or kill a write halfway. Pages stay correct, and a cleaner repairs the index.`,
        ]
      : []),
    markup`<a href="${base}/entity">Open an entity</a>: its bag, its bytes, and its index rows on all shards.`,
  ]
}

/** Renders the first page: an introduction, suggestions, and a picture with the statements of this process. */
export function overviewPage({ shards }: StoreStats, suggestions: readonly Html[]): Html {
  return markup`<h1>A store over plain tables</h1>
<p class="lead">An entity is a bag of properties without a schema. Each shard has one table of entities, with one body per entity, compressed if that makes it smaller.
Every index is a table of its own, whose rows may be on another shard than their entities. A query reads index rows, then the entities, and checks each entity
against its row. So a superfluous row never reaches the caller, and a cleaner deletes it.</p>
<h2>Try first</h2><ol class="steps">${suggestions.map((suggestion) => markup`<li>${suggestion}</li>`)}</ol>
<h2>How it works</h2>
<div class="scroll" tabindex="0" role="region" aria-label="Picture of the store">${picture(shards)}</div>
<ol class="steps"><li class="index"><i></i>A query reads the rows of a key from an index.</li>
<li class="entities"><i></i>It reads the entities of these rows from their shards, and checks each entity against its row.</li>
<li>A write adds index rows first, commits the entity by compare-and-swap, and then deletes the rows of its old keys.</li></ol>
<p class="soft">The numbers count the statements of this process since it opened the store. Concurrent calls share statements.</p>`
}

interface Sent {
  readonly statements: number
  readonly items: number
}

function picture(shards: readonly ShardStats[]): Html {
  const shown = shards.slice(0, MAX_SHARDS)
  const more = shards.length - shown.length
  const height = shown.length * ROW + (more > 0 ? 24 : 0)
  const middle = (shown.length * ROW) / 2
  const top = middle - 34
  const label = `One process sends statements to ${counted(shards.length, 'shard')}: ${shown.map((shard) => `${shard.name}: ${textOf('index', sentTo(shard, 'index'))}, ${textOf('entities', sentTo(shard, 'entities'))}`).join('; ')}`
  return markup`<svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${label}">
<rect class="box" x="8" y="${top}" width="132" height="68" rx="6"/><text x="74" y="${top + 30}" text-anchor="middle">this process</text><text x="74" y="${top + 50}" text-anchor="middle" class="soft">pages and writes</text>
${shown.map((shard, i) => shardRow(shard, i * ROW + 8, middle))}${more > 0 ? markup`<text x="${SHARD_X}" y="${height - 8}" class="soft">and ${counted(more, 'shard')} more</text>` : undefined}</svg>`
}

function shardRow(shard: ShardStats, y: number, from: number): Html {
  const [index, entities] = [sentTo(shard, 'index'), sentTo(shard, 'entities')]
  const line = (kind: string, start: number, end: number): Html =>
    markup`<path class="${kind} line" d="M140 ${start} C 220 ${start} 220 ${end} ${SHARD_X - 8} ${end}"/>`
  const box = (kind: 'index' | 'entities', x: number, sent: Sent): Html =>
    markup`<g class="${kind}"><rect x="${x}" y="${y + 20}" width="6" height="${BOX - 20}" rx="2"/></g><text x="${x + 14}" y="${y + 33}">${kind === 'index' ? 'index tables' : 'entities'}</text><text x="${x + 14}" y="${y + 49}" class="soft">${textOf(kind, sent)}</text>`
  return markup`${line('index', from - 8, y + BOX / 2 - 5)}${line('entities', from + 8, y + BOX / 2 + 5)}<text x="${SHARD_X}" y="${y + 12}">${shard.name}</text>${box('index', SHARD_X, index)}${box('entities', SHARD_X + 340, entities)}`
}

/** Counts the statements of this process to the tables of a kind. */
function sentTo({ lanes }: ShardStats, kind: 'index' | 'entities'): Sent {
  const matching = lanes.filter(({ table }) => tableKind(table) === kind)
  const sum = (field: keyof Sent): number => matching.reduce((total, lane) => total + lane[field], 0)
  return { statements: sum('statements'), items: sum('items') }
}

function textOf(kind: 'index' | 'entities', { statements, items }: Sent): string {
  const count =
    kind === 'index' ? counted(items, 'scan and row', 'scans and rows') : counted(items, 'entity', 'entities')
  return `${count} in ${counted(statements, 'statement')}`
}
