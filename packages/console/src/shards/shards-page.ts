import { readCleanerReport, type CleanerReport } from '@looseleaf/cleaner'
import { readShardReports, type ShardReport } from '@looseleaf/cleaner/internal'
import type { ShardSizes, StoreLayout } from '@looseleaf/core/internal'
import { presentEntries } from '@looseleaf/index-engine/internal'
import type { MoveReport } from '@looseleaf/store'
import {
  readFailures,
  readReplicas,
  type CacheStats,
  type FailureReport,
  type ReplicaReport,
  type ReplicaStats,
  type ShardStats,
} from '@looseleaf/store/internal'
import { readPart, readSizes, type PartResult } from '../requests/read-part.ts'
import { bucketMap } from './bucket-map.ts'
import { movesSection } from './moves-section.ts'
import { markup, type Html } from '../kit/html.ts'
import type { Answer, PageRequest } from '../requests/routes.ts'
import type { ShownStore } from '../requests/shown-store.ts'
import { bytesText, capital, counted, cut, durationText, milliseconds, timeText } from '../kit/text.ts'
import { message, moment, noteOf, table } from '../kit/table.ts'

const MAX_SHARDS = 64
/** Largest number of shards with lanes, and of lanes per shard. */
const MAX_WITH_LANES = 16
const MAX_LANES = 12
const MAX_REPLICAS = 8
const MANY_MS = 10_000
/** Milliseconds after which the notes of a silent shard are left out. It is less than the time limit of a part of a page. */
const NOTES_MS = 1_500
const MAX_FAILING = 20
const MAX_MOVES = 16

/** Renders the page about the shards: their contents, their cleaner, and the statements of this process. */
export async function shardsPage({ store, base }: ShownStore, { signal }: PageRequest): Promise<Answer> {
  const { callsInFlight, shards, removals, cache } = store.stats()
  const { driver, catalog } = store.context
  const [report, followed, sizes, replicas, failing, moves] = await Promise.all([
    readPart((limited) => readCleanerReport(store, { signal: limited }), signal),
    readPart((limited) => readShardReports(store, { signal: limited }), signal),
    readSizes(driver, signal),
    readPart((limited) => readReplicas(store.context, { signal: limited }), signal),
    readPart((limited) => readFailures(store.context, { signal: limited, lateMs: NOTES_MS }), signal),
    readPart((limited) => store.shards.moves({ signal: limited, finished: true }), signal),
  ])
  const { indexes, layout, placement } = catalog.current()
  const kinds = new Set(indexes.flatMap(({ on }) => on?.['_kind'] ?? [])).size
  const present = presentEntries(driver)
  const buckets = placement.shardOfBucket
  const body = markup`<h1>Shards</h1>
<p class="lead">The store has ${counted(shards.length, 'database')} with the same tables, and <a href="${base}/index">${counted(new Set(indexes.map(({ name }) => name)).size, 'index', 'indexes')}</a>${kinds === 0 ? '' : ` of ${counted(kinds, 'kind')}`}. No transaction and no lock spans two databases.</p>
${contentsTable(present, layout, sizes, followed, buckets)}
${movesPart(moves, layout)}
${failingCalls(failing)}
${cleanerLine(report)}
${buckets === undefined ? undefined : markup`<h2>Buckets</h2><p>Every id always belongs to the same one of ${buckets.length.toLocaleString('en-US')} buckets, and every bucket is on one shard.</p>${bucketMap(buckets, present)}`}
<h2>Statements of this process</h2>
<p>The counts begin when it opened the store. ${capital(counted(callsInFlight, 'call'))} ${callsInFlight === 1 ? 'is' : 'are'} in flight. ${capital(counted(removals.kept, 'lost index row'))} ${removals.kept === 1 ? 'is' : 'are'} kept until no query needs ${removals.kept === 1 ? 'it' : 'them'}.</p>
${cache === undefined ? undefined : markup`<p>${cacheText(cache)} It answered ${cache.hits.toLocaleString('en-US')} of ${counted(cache.hits + cache.misses, 'look-up')}.</p>`}
${shards.slice(0, MAX_WITH_LANES).map((shard) => shardSection(shard, replicas))}
${shards.length > MAX_WITH_LANES ? markup`<p class="soft">${capital(counted(shards.length - MAX_WITH_LANES, 'more shard'))} not shown.</p>` : undefined}`
  return { status: 200, title: 'Shards', body }
}

function movesPart(
  moves: PartResult<readonly MoveReport[]>,
  layout: StoreLayout | undefined,
): Html | undefined {
  if (moves.failure !== undefined) return markup`<p>The moves of buckets are unknown: ${moves.failure}</p>`
  if (moves.value.length === 0) return undefined
  // The open ones come first, and then the last ones that are over.
  const [open, over] = [false, true].map((isOver) =>
    moves.value.filter(({ endedAt }) => (endedAt !== undefined) === isOver),
  )
  const ordered = [...open!, ...over!.toReversed()]
  const { shown, note } = cut(ordered, MAX_MOVES, 'move')
  return markup`<h2>Moves of buckets</h2>${movesSection(shown, layout?.shards.map(({ name }) => name) ?? [])}${noteOf(note)}`
}

function contentsTable(
  present: ReturnType<typeof presentEntries>,
  layout: StoreLayout | undefined,
  sizes: readonly PartResult<ShardSizes | undefined>[],
  followed: PartResult<readonly ShardReport[]>,
  buckets: readonly number[] | undefined,
): Html {
  const { shown, note } = cut(present, MAX_SHARDS, 'shard')
  const held = Map.groupBy(buckets ?? [], (shard) => shard)
  const hasPending = followed.value?.some(({ pending }) => pending !== undefined) ?? false
  const rows = shown.map(([number, { name }], i) => {
    const size = sizes[i]?.value
    const cleaner = followed.value?.[i]
    return [
      name,
      layout?.shards[number]?.state ?? '',
      ...(buckets === undefined ? [] : [(held.get(number)?.length ?? 0).toLocaleString('en-US')]),
      size?.entities?.toLocaleString('en-US') ?? '–',
      size === undefined ? '–' : bytesText(size.bytes),
      cleaner?.lagMs === undefined ? '–' : durationText(cleaner.lagMs),
      cleaner?.sinceLastRoundMs === undefined ? '–' : `${durationText(cleaner.sinceLastRoundMs)} ago`,
      ...(hasPending ? [pendingText(cleaner?.pending)] : []),
    ]
  })
  const head = [
    'shard',
    'state',
    ...(buckets === undefined ? [] : ['buckets']),
    'entities, about',
    'bytes, about',
    'cleaner’s lag',
    'its last round',
    ...(hasPending ? ['pending rows'] : []),
  ]
  const silent = shown.flatMap(([, { name }], i) => {
    const failure = sizes[i]?.failure
    return failure === undefined ? [] : [markup`<p>The contents of ${name} are unknown: ${failure}</p>`]
  })
  return markup`${table(head, rows, 'Contents of the shards')}${silent}
<p class="soft">${note} The cleaner’s lag is the age of the oldest write that it has not read. Entities and bytes are estimates from the databases’ statistics, including tombstones. “–” means unknown.</p>`
}

function pendingText(pending: ShardReport['pending']): string {
  return pending === undefined ? '–' : `${pending.rows}${pending.more ? ' or more' : ''}`
}

/** Renders the failing calls of the last hour in all processes; undefined without any. */
function failingCalls({ value, failure }: PartResult<readonly FailureReport[]>): Html | undefined {
  if (failure !== undefined) return markup`<p>The failing calls of the last hour are unknown: ${failure}</p>`
  const rows = value.flatMap(({ process, at, isOver, calls, periodMs, failures }) =>
    failures.map(({ code, shard = '', count, message: text }) => [
      process,
      shard,
      code,
      `${count.toLocaleString('en-US')} of ${calls.toLocaleString('en-US')} in ${durationText(periodMs)}`,
      moment(`${isOver ? 'none since ' : ''}${timeText(at)}`),
      message(text),
    ]),
  )
  if (rows.length === 0) return undefined
  const { shown, note } = cut(rows, MAX_FAILING, 'line')
  const head = ['process', 'shard', 'calls failed with', 'how many', 'noted', 'last message']
  return markup`<h2>Failing calls</h2>${table(head, shown, 'Failing calls of the last hour')}${noteOf(note)}`
}

function cleanerLine(report: PartResult<CleanerReport>): Html {
  if (report.failure !== undefined)
    return markup`<p>The report of the cleaner is unknown: ${report.failure}</p>`
  const { updatedAt, totals, lastFoundAt, lastError } = report.value
  if (updatedAt === undefined) return markup`<p>No cleaner has saved a report yet.</p>`
  const found = `${counted(totals.added, 'row')} added and ${counted(totals.removed, 'row')} removed`
  return markup`<p>The cleaner’s report of ${timeText(updatedAt)}: ${found} since the first cleaner ran${lastFoundAt === undefined ? '' : `, the last at ${timeText(lastFoundAt)}`}.${lastError === undefined ? undefined : markup` Its last error, at ${timeText(lastError.at)}: ${lastError.code}: ${lastError.message}`}</p>`
}

function shardSection(shard: ShardStats, reports: PartResult<readonly ReplicaReport[]>): Html {
  const { name, replicas } = shard
  const { shown, note } = cut(replicas, MAX_REPLICAS, 'replica')
  return markup`<h3>${name}</h3>
${sentTo(shard)}
${shown.map((replica) => markup`<h4>${replica.name}, a replica</h4><p>${lagOf(replica, reports)} ${stateOf(replica)}</p>${sentTo(replica)}`)}${noteOf(note)}`
}

/** Returns the lag that a replica reports itself, whether this process reads from it or not. */
function lagOf({ name }: ReplicaStats, { value, failure }: PartResult<readonly ReplicaReport[]>): string {
  if (failure !== undefined) return `Its lag is unknown: ${failure}`
  const report = value.find((replica) => replica.name === name)
  if (report?.exclusionReason !== undefined) return `It cannot be read: ${report.exclusionReason}`
  const { behindMs } = report ?? {}
  if (behindMs === undefined) return 'Its lag behind its primary is unknown.'
  const lag = behindMs < MANY_MS ? milliseconds(behindMs) : durationText(behindMs)
  return `It is ${lag} behind its primary, measured by the floor, which cleaners, consumers and readers of replicas raise.`
}

function stateOf({ ageMs, exclusionReason }: ReplicaStats): string {
  return ageMs === undefined
    ? `This process does not read from it: ${exclusionReason ?? 'it has not checked it yet.'}`
    : `This process knows that it has all writes acknowledged ${milliseconds(ageMs)} ago.`
}

function sentTo({ name, connections, lanes }: Pick<ShardStats, 'name' | 'connections' | 'lanes'>): Html {
  const busiest = lanes.toSorted((a, b) => b.statements - a.statements)
  const { shown, note } = cut(busiest, MAX_LANES, 'lane')
  return markup`${connections === undefined ? undefined : markup`<p>${connections.refusal ?? `${connections.open - connections.idle} of ${connections.open} open connections are in use, and the pool has at most ${connections.limit}. ${capital(counted(connections.waiting, 'call'))} ${connections.waiting === 1 ? 'waits' : 'wait'} for a connection.`}</p>`}
${
  lanes.length === 0
    ? markup`<p>It has received no statement.</p>`
    : table(
        ['lane', 'statements', 'items', 'items per statement', 'waiting'],
        shown.map(({ table: tableName, kind, statements, items, waiting }) => [
          `${tableName} ${kind}`,
          statements.toLocaleString('en-US'),
          items.toLocaleString('en-US'),
          (items / Math.max(1, statements)).toFixed(1),
          `${waiting}`,
        ]),
        `Lanes of ${name}`,
      )
}${noteOf(note)}`
}

function cacheText({ entities, bytes }: CacheStats): string {
  if (entities === undefined || bytes === undefined) return 'The cache is shared with other processes.'
  return `The cache has ${counted(entities, 'entity', 'entities')} in ${bytesText(bytes)}.`
}
