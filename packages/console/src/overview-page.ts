import { tableKind } from '@looseleaf/core'
import type { ShardStats, StoreStats } from '@looseleaf/store'
import { markup, type Html } from './html.ts'
import type { Link } from './page.ts'
import { counted } from './text.ts'

const WIDTH = 940
const SHARD_X = 280
const ROW = 76
const BOX = 52
/** More are counted. */
const MAX_SHARDS = 8

export interface MayTry {
  readonly home: Link | undefined
  readonly hasXrays: boolean
  /** Whether indexes can be added. */
  readonly mayAdd: boolean
  /** Whether rows can be planted, and the like. */
  readonly mayBreak: boolean
}

/** What somebody who is here for the first time may try, the first first: as far as this console has it. */
export function thingsToTry(base: string, { home, hasXrays, mayAdd, mayBreak }: MayTry): readonly Html[] {
  return [
    ...(home === undefined || !hasXrays
      ? []
      : [
          markup`Load <a href="${home.href}">a page of ${home.label}</a>, and find it in the <a href="${base}/xray">X-rays</a>: few statements for all that is on it, and which shard each was sent to.`,
        ]),
    ...(mayAdd
      ? [
          markup`<a href="${base}/live">Add an index</a> while others read and write: nothing is locked, and the plot shows what it does to them.`,
        ]
      : []),
    ...(mayBreak
      ? [
          markup`<a href="${base}/faults">Break it</a>: plant index rows that lead to nothing, or let a write die halfway. Pages stay right, and a cleaner mends it.`,
        ]
      : []),
    markup`<a href="${base}/entity">Open an entity</a>: its bag, its bytes, and each of its index rows on whichever shard it is.`,
  ]
}

/** What is looked at: the store in two sentences, what to try, and a picture with what this process has sent so far. */
export function overviewPage({ shards }: StoreStats, toTry: readonly Html[]): Html {
  return markup`<h1>A store over plain tables</h1>
<p class="lead">Entities are bags of properties without a schema, kept as one body each, compressed where that pays, in one table a shard, and every index is a table of its own, whose rows
may be on another shard than their entities. Reads go from an index to the entities and check them again, so a row too many is never seen, and a cleaner
takes it away.</p>
<h2>Try first</h2><ol class="steps">${toTry.map((one) => markup`<li>${one}</li>`)}</ol>
<h2>How it works</h2>
<div class="scroll" tabindex="0" role="region" aria-label="Picture of the store">${picture(shards)}</div>
<ol class="steps"><li class="index"><i></i>A page asks an index for the rows of a key.</li>
<li class="entities"><i></i>It reads the entities that they name, from whichever shard, and holds each against its row.</li>
<li>A write adds index rows first, commits the entity by compare-and-swap, and only then deletes the rows that it has lost.</li></ol>
<p class="soft">Numbers are of this process, since it opened the store. Calls that are made at the same time share statements.</p>`
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

/** What this process has sent to the tables of a kind. */
function sentTo({ lanes }: ShardStats, kind: 'index' | 'entities'): Sent {
  const own = lanes.filter(({ table }) => tableKind(table) === kind)
  const sum = (of: keyof Sent): number => own.reduce((before, lane) => before + lane[of], 0)
  return { statements: sum('statements'), items: sum('items') }
}

function textOf(kind: 'index' | 'entities', { statements, items }: Sent): string {
  const what =
    kind === 'index' ? counted(items, 'scan and row', 'scans and rows') : counted(items, 'entity', 'entities')
  return `${what} in ${counted(statements, 'statement')}`
}
