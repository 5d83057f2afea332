import { tableKind } from '@looseleaf/core'
import type { StoreStats } from '@looseleaf/store'
import type { ShardStats } from '@looseleaf/store/internal'
import { drawing } from './kit/drawing.ts'
import { markup, type Html } from './kit/html.ts'
import { scrolling } from './kit/table.ts'
import { counted } from './kit/text.ts'

const WIDTH = 540
const SHARD_X = 172
const ROW = 112
/** Distance between the two tables of a shard. */
const TABLE = 44
/** Largest number of drawn shards. Further shards are counted. */
const MAX_SHARDS = 8

/** Renders the first page: an introduction, suggestions, and a picture with the statements of this process. */
export function overviewPage({ shards }: StoreStats, suggestions: readonly Html[]): Html {
  return markup`<h1>A store over plain tables</h1>
<p class="lead">An entity is a bag of properties without a schema. Each shard has one table of entities, with one body per entity, compressed if that makes it smaller.
Every index is a table of its own, whose rows may be on another shard than their entities. A query reads index rows, then the entities, and checks each entity
against its row. So a superfluous row never reaches the caller, and a cleaner deletes it.</p>
<h2>Try first</h2><ol class="steps">${suggestions.map((suggestion) => markup`<li>${suggestion}</li>`)}</ol>
<h2>How it works</h2>
${scrolling('Picture of the store', picture(shards))}
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
  return drawing(
    { width: WIDTH, height, label, kind: 'small' },
    markup`<rect class="box" x="1" y="${top}" width="124" height="68" rx="6"/><text x="63" y="${top + 30}" text-anchor="middle">this process</text><text x="63" y="${top + 50}" text-anchor="middle" class="soft">pages and writes</text>`,
    shown.map((shard, i) => shardRow(shard, i * ROW + 8, middle)),
    more > 0
      ? markup`<text x="${SHARD_X}" y="${height - 8}" class="soft">and ${counted(more, 'shard')} more</text>`
      : undefined,
  )
}

function shardRow(shard: ShardStats, y: number, from: number): Html {
  const tables = (['index', 'entities'] as const).map((kind, i) => {
    const at = y + 20 + i * TABLE
    const [start, end] = [from + (i * 2 - 1) * 8, at + 18]
    return markup`<path class="${kind} line" d="M125 ${start} C 152 ${start} 138 ${end} ${SHARD_X - 8} ${end}"/><rect class="${kind}" x="${SHARD_X}" y="${at}" width="6" height="36" rx="2"/><text x="${SHARD_X + 14}" y="${at + 14}">${kind === 'index' ? 'index tables' : 'entities'}</text><text x="${SHARD_X + 14}" y="${at + 31}" class="soft">${textOf(kind, sentTo(shard, kind))}</text>`
  })
  return markup`<text x="${SHARD_X}" y="${y + 12}">${shard.name}</text>${tables}`
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
