import { readCleanerReport, readShardReports, type CleanerReport, type ShardReport } from '@looseleaf/cleaner'
import type { ShardSizes } from '@looseleaf/core'
import {
  readFailures,
  readReplicas,
  type CacheStats,
  type DataStore,
  type FailureReport,
  type ReplicaReport,
  type ReplicaStats,
  type ShardStats,
} from '@looseleaf/store'
import { asked, askSizes, type Asked } from './asked.ts'
import { bucketMap } from './bucket-map.ts'
import { markup, type Html } from './html.ts'
import type { Answer } from './routes.ts'
import { byteText, counted, cut, durationText, milliseconds, timeText } from './text.ts'
import { noteOf, table } from './table.ts'

const MAX_SHARDS = 64
/** Shards whose lanes are shown, and lanes of each. */
const MAX_WITH_LANES = 16
const MAX_LANES = 12
const MAX_REPLICAS = 8
const MANY_MS = 10_000
/** Notes of a shard that has not answered for so long are left out, before the page gives up all of them, in milliseconds. */
const NOTES_MS = 1_500
const MAX_FAILING = 20

export interface ShardsPageOptions {
  readonly store: Pick<DataStore, 'stats' | 'context'>
  readonly base: string
}

/** What the shards hold, how the cleaner follows them, and what this process has sent to each. */
export async function shardsPage({ store, base }: ShardsPageOptions, signal: AbortSignal): Promise<Answer> {
  const { callsUnderWay, shards, removals, cache } = store.stats()
  const { driver, router, catalog } = store.context
  const [report, followed, sizes, replicas, failing] = await Promise.all([
    asked((limited) => readCleanerReport({ context: store.context }, { signal: limited }), signal),
    asked((limited) => readShardReports({ context: store.context }, { signal: limited }), signal),
    askSizes(driver, signal),
    asked((limited) => readReplicas(store.context, { signal: limited }), signal),
    asked((limited) => readFailures(store.context, { signal: limited, lateMs: NOTES_MS }), signal),
  ])
  const { indexes } = catalog.current()
  const kinds = new Set(indexes.flatMap(({ on }) => on?.['_kind'] ?? [])).size
  const names = shards.map(({ name }) => name)
  const buckets = router.buckets?.shards
  const body = markup`<h1>Shards</h1>
<p class="lead">${counted(shards.length, 'database')} with the same tables. No transaction and no lock spans two of them. <a href="${base}/index">${counted(new Set(indexes.map(({ name }) => name)).size, 'index', 'indexes')}</a>${kinds === 0 ? '' : ` of ${counted(kinds, 'kind')}`}.</p>
${holdsTable(names, sizes, followed, buckets)}
${failingCalls(failing)}
${cleanerLine(report)}
${buckets === undefined ? undefined : markup`<h2>Buckets</h2><p>Every id is in one of ${buckets.length.toLocaleString('en-US')} buckets for ever, and every bucket on one shard: a shard is added by moving buckets to it.</p>${bucketMap(buckets, names)}`}
<h2>What this process has sent</h2>
<p>Since it opened the store. ${counted(callsUnderWay, 'call')} ${callsUnderWay === 1 ? 'is' : 'are'} under way; ${counted(removals.kept, 'index row')} that entities have lost ${removals.kept === 1 ? 'waits' : 'wait'} until no query needs ${removals.kept === 1 ? 'it' : 'them'}.</p>
${cache === undefined ? undefined : markup`<p>${cacheText(cache)} ${counted(cache.hits + cache.misses, 'look-up')} it answered ${cache.hits.toLocaleString('en-US')}.</p>`}
${shards.slice(0, MAX_WITH_LANES).map((shard) => shardSection(shard, replicas))}
${shards.length > MAX_WITH_LANES ? markup`<p class="soft">${counted(shards.length - MAX_WITH_LANES, 'more shard')} not shown.</p>` : undefined}`
  return { status: 200, title: 'Shards', body }
}

function holdsTable(
  names: readonly string[],
  sizes: readonly Asked<ShardSizes | undefined>[],
  followed: Asked<readonly ShardReport[]>,
  buckets: readonly number[] | undefined,
): Html {
  const { shown, note } = cut(names, MAX_SHARDS, 'shard')
  const held = Map.groupBy(buckets ?? [], (shard) => shard)
  const rows = shown.map((name, i) => {
    const size = sizes[i]?.value
    const cleaner = followed.value?.[i]
    return [
      name,
      ...(buckets === undefined ? [] : [(held.get(i)?.length ?? 0).toLocaleString('en-US')]),
      size?.entities?.toLocaleString('en-US') ?? '–',
      size === undefined ? '–' : byteText(size.bytes),
      cleaner?.lagMs === undefined ? '–' : durationText(cleaner.lagMs),
      cleaner?.sinceLastRoundMs === undefined ? '–' : `${durationText(cleaner.sinceLastRoundMs)} ago`,
      cleaner?.pending === undefined
        ? '–'
        : `${cleaner.pending.rows}${cleaner.pending.more ? ' or more' : ''}`,
    ]
  })
  const head = [
    'shard',
    ...(buckets === undefined ? [] : ['buckets']),
    'entities, about',
    'bytes, about',
    'cleaner’s lag',
    'its last round',
    'pending rows',
  ]
  const silent = shown.flatMap((name, i) => {
    const failure = sizes[i]?.failure
    return failure === undefined ? [] : [markup`<p>What ${name} holds is not known: ${failure}</p>`]
  })
  return markup`${table(head, rows, 'What the shards hold')}${silent}
<p class="soft">${note} The cleaner’s lag is how far it is behind the writes of the shard. Entities and bytes are estimates of the databases’ statistics, tombstones included; “–” is not known.</p>`
}

/** Lists calls that have failed within an hour, in any process; undefined when all have succeeded. */
function failingCalls({ value, failure }: Asked<readonly FailureReport[]>): Html | undefined {
  if (failure !== undefined) return markup`<p>Failing calls of the last hour are not known: ${failure}</p>`
  const rows = value.flatMap(({ process, at, isOver, calls, periodMs, failures }) =>
    failures.map(({ code, shard = '', count, message }) => [
      process,
      shard,
      code,
      `${count.toLocaleString('en-US')} of ${calls.toLocaleString('en-US')} in ${durationText(periodMs)}`,
      isOver ? markup`none since ${timeText(at)}` : timeText(at),
      message,
    ]),
  )
  if (rows.length === 0) return undefined
  const { shown, note } = cut(rows, MAX_FAILING, 'line')
  const head = ['process', 'shard', 'calls failed with', 'how many', 'noted', 'last message']
  return markup`<h2>Failing calls</h2>${table(head, shown, 'Failing calls of the last hour')}${noteOf(note)}`
}

function cleanerLine(report: Asked<CleanerReport>): Html {
  if (report.failure !== undefined)
    return markup`<p>What the cleaner has found is not known: ${report.failure}</p>`
  const { updatedAt, totals, lastFoundAt, lastError } = report.value
  if (updatedAt === undefined) return markup`<p>No cleaner has saved a report yet.</p>`
  const found = `${counted(totals.added, 'row')} added and ${counted(totals.removed, 'row')} removed`
  return markup`<p>The cleaner, as it saved at ${timeText(updatedAt)}: ${found} since the first one ran${lastFoundAt === undefined ? '' : `, the last at ${timeText(lastFoundAt)}`}.${lastError === undefined ? undefined : markup` Its last error, at ${timeText(lastError.at)}: ${lastError.code}: ${lastError.message}`}</p>`
}

function shardSection(shard: ShardStats, reports: Asked<readonly ReplicaReport[]>): Html {
  const { name, replicas } = shard
  const { shown, note } = cut(replicas, MAX_REPLICAS, 'replica')
  return markup`<h3>${name}</h3>
${sentTo(shard)}
${shown.map((replica) => markup`<h4>${replica.name}, a replica</h4><p>${lagOf(replica, reports)} ${stateOf(replica)}</p>${sentTo(replica)}`)}${noteOf(note)}`
}

/** As it says itself, whether this process reads from it or not. */
function lagOf({ name }: ReplicaStats, { value, failure }: Asked<readonly ReplicaReport[]>): string {
  if (failure !== undefined) return `How far it is behind is not known: ${failure}`
  const report = value.find((one) => one.name === name)
  if (report?.leftOut !== undefined) return `It cannot be read: ${report.leftOut}`
  const { behindMs } = report ?? {}
  if (behindMs === undefined) return 'How far it is behind its primary is not known.'
  const lag = behindMs < MANY_MS ? milliseconds(behindMs) : durationText(behindMs)
  return `It is ${lag} behind its primary, as far as anybody has raised the floor there.`
}

function stateOf({ ageMs, leftOut }: ReplicaStats): string {
  return ageMs === undefined
    ? `This process reads nothing from it: ${leftOut ?? 'it has not asked it yet.'}`
    : `This process knows that it has everything that was acknowledged ${milliseconds(ageMs)} ago.`
}

/** The connections and lanes of a server. */
function sentTo({ name, connections, lanes }: Pick<ShardStats, 'name' | 'connections' | 'lanes'>): Html {
  const busiest = lanes.toSorted((a, b) => b.statements - a.statements)
  const { shown, note } = cut(busiest, MAX_LANES, 'lane')
  return markup`${connections === undefined ? undefined : markup`<p>${connections.refusal ?? `${connections.open - connections.idle} of ${connections.open} connections are used, ${connections.limit} there may be; ${counted(connections.waiting, 'call')} ${connections.waiting === 1 ? 'waits' : 'wait'} for one.`}</p>`}
${
  lanes.length === 0
    ? markup`<p>Nothing has been sent to it.</p>`
    : table(
        ['lane', 'statements', 'items', 'items a statement', 'waiting'],
        shown.map(({ table: of, kind, statements, items, waiting }) => [
          `${of} ${kind}`,
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
  if (entities === undefined || bytes === undefined) return 'The cache is shared with other processes; of'
  return `The cache has ${counted(entities, 'entity', 'entities')} in ${byteText(bytes)}; of`
}
