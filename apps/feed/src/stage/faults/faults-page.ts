import type { ActContext, ActPage, KnownActs, PlannedAct } from '@looseleaf/console'
import {
  actOrState,
  capital,
  counted,
  durationText,
  markup,
  purposeOf,
  type Html,
  type Purposes,
} from '@looseleaf/console/kit'
import { readShardReports } from '@looseleaf/cleaner/internal'
import { cleanIndex, type DataStore } from 'looseleaf'
import type { CatalogEntry } from '@looseleaf/core/internal'
import type { LoopControl } from '../../domain/site/loop.ts'
import { dataOf } from '../../kinds/site-data.ts'
import { BROKEN_MS, crashPoints, killNextWrite, stopShard, type CrashPoint } from './break-shards.ts'
import { holdCrawler } from './hold-crawler.ts'
import { holdDeliveries } from './hold-deliveries.ts'
import { HOLD_MS, holdLoop } from './hold-loop.ts'
import { plantRows } from './plant-rows.ts'
import type { RowCounts } from './row-counts.ts'
import type { ShardFaults } from './shard-faults.ts'
import { messageOf } from '../../text/message-of.ts'

/** The loops of a process that can be held. */
export interface Loops {
  readonly cleaner?: LoopControl | undefined
  readonly deliveries?: LoopControl | undefined
  readonly crawler?: LoopControl | undefined
}

export interface FaultsPageOptions {
  readonly store: DataStore
  /** Names of the indexes that may be broken. */
  readonly indexes: readonly string[]
  /** Observer of the store. */
  readonly counts: RowCounts
  /** The loops of this process, each with a button that holds it. Default: none. */
  readonly loops?: Loops
  /** Faults with whose `shards` the store was opened. Default: no buttons that stop shards or kill writes. */
  readonly shards?: ShardFaults | undefined
  /** Descriptions of the indexes. Default: none. */
  readonly purposes?: Purposes
}

/** Number of rows that an act plants on each shard. */
const PER_SHARD = 20
/** Subjects of acts on the loops. */
const LOOPS = { cleaner: 'the cleaner', deliveries: 'the deliveries', crawler: 'the crawler' } as const
/** Returns the subject of an act that kills a write. */
const victim = (crashPoint: CrashPoint): string => `a write ${crashPoint}`

/** Returns the write that an act kills. A write killed after its commit leaves a trace only if it had index rows to delete. */
const targetText = (crashPoint: CrashPoint): string =>
  crashPoint === 'before its commit' ? 'The next write' : 'The next write that removes an index row'
/** Largest number of shards with a button. */
const MAX_SHARDS = 16

/** Time limit for reading the reports of the cleaner, in milliseconds. */
const REPORT_MS = 2000

/** Creates the page that plants dangling rows and cleans them, and that makes shards fail. */
export function faultsPage({
  store,
  indexes,
  counts,
  loops = {},
  shards,
  purposes = {},
}: FaultsPageOptions): ActPage {
  const { context } = store
  const data = dataOf(store)
  const planted = new Map<string, number>()

  const entryOf = (name: string): CatalogEntry | undefined =>
    context.catalog
      .current()
      .indexes.find((entry) => entry.name === name && entry.state === 'ready' && !entry.unique)

  function section(name: string, running: KnownActs['running']): Html {
    const { discarded, removed } = counts.of(name)
    if (entryOf(name) === undefined)
      return markup`<h2>${name}</h2><p>The store has no ready index of this name.</p>`
    return markup`<section><h2>${name}</h2>${purposeOf(purposes, name)}
<dl><dt>planted</dt><dd>${counted(planted.get(name) ?? 0, 'row')}</dd><dt>discarded by queries</dt><dd>${counted(discarded, 'time')}</dd><dt>deleted by cleaners</dt><dd>${counted(removed, 'row')}</dd></dl>
<p class="acts">${actOrState(running, 'plant', name, `Plant rows in ${name}`, 'Being planted')}${actOrState(running, 'clean', name, `Clean ${name}`, 'Being cleaned')}</p></section>`
  }

  async function cleanerSection(running: KnownActs['running']): Promise<Html> {
    const reports = await readShardReports(store, { signal: AbortSignal.timeout(REPORT_MS) }).catch(messageOf)
    const lags =
      typeof reports === 'string' ? markup`<p>${reports}</p>` : markup`<dl>${reports.map(lagOf)}</dl>`
    return markup`<section><h2>The cleaner</h2><p>The lag of the cleaner on each shard. Some seconds are normal.</p>
${lags}
<p class="acts">${actOrState(running, 'hold', LOOPS.cleaner, 'Hold the cleaner', 'Held')}</p></section>`
  }

  function loopsSection(running: KnownActs['running']): Html {
    const names = (['deliveries', 'crawler'] as const).filter((name) => loops[name] !== undefined)
    return markup`<section><h2>Deliveries and fetches</h2><p>These loops of this process can be stopped for a minute. Post something meanwhile: pages go on, and other processes take over if there are some. Once they run again, the outcome says how many entries were lost and how many came twice. It compares the followers of each entry with their inboxes.</p>
<p class="acts">${names.map((name) => actOrState(running, 'hold', LOOPS[name], `Hold ${LOOPS[name]}`, 'Held'))}</p></section>`
  }

  function shardsSection(running: KnownActs['running']): Html {
    const names = context.driver.shards.map(({ name }) => name)
    return markup`<section><h2>A write</h2><p>These buttons kill the next write of an entity between two of its steps. Before its commit: the caller gets an error, and the new index rows dangle until a cleaning of the index. A cleaning skips rows
younger than a minute, because their writer may still be running. After its commit: the lost rows stay until the cleaner follows the write some seconds later. This needs a write
that removes an index row, such as a delete.${loops.cleaner && ' Hold the cleaner first if you want time to look.'}</p>
<p class="acts">${crashPoints.map((crashPoint) => actOrState(running, 'kill', victim(crashPoint), `Kill ${victim(crashPoint)}`, `Armed to kill ${victim(crashPoint)}`))}</p></section>
<section><h2>The shards</h2><p>Pages go on without a stopped shard, and a bar says what is missing. A page about a thing on it, and forms that write to it, answer with status 503. The console keeps working.</p>
<p class="acts">${names.slice(0, MAX_SHARDS).map((name) => actOrState(running, 'stop', name, `Stop ${name}`, `${name} is stopped`))}</p></section>`
  }

  async function cleanWithProgress(
    name: string,
    { signal, showProgress, setOutcome }: ActContext,
  ): Promise<void> {
    const { removed } = await cleanIndex(store, name, {
      signal,
      onProgress: ({ phase, shard, done, total }) =>
        showProgress(
          `${phase}, ${done.toLocaleString('en-US')} of ${total.toLocaleString('en-US')} on shard ${shard}`,
        ),
    })
    setOutcome(`${capital(counted(removed, 'row'))} deleted.`)
  }

  function shardFault(faults: ShardFaults, name: 'kill' | 'stop', about: string): PlannedAct | undefined {
    const crashPoint = crashPoints.find((each) => victim(each) === about)
    if (name === 'kill') {
      if (crashPoint === undefined) return undefined
      return {
        name,
        about,
        question: `${targetText(crashPoint)} within ${durationText(BROKEN_MS)} is killed ${crashPoint}${crashPoint === 'before its commit' ? ', and its caller gets an error' : ''}.`,
        endLabel: 'Cancel',
        run: (actContext) => killNextWrite(faults, crashPoint, BROKEN_MS, actContext),
      }
    }
    if (!context.driver.shards.some((shard) => shard.name === about)) return undefined
    return {
      name,
      about,
      question: `For ${durationText(BROKEN_MS)} this process gets errors from it instead of answers. Pages leave out its data and say so; writes to it fail.`,
      endLabel: `Bring ${about} back`,
      run: (actContext) => stopShard(faults, about, BROKEN_MS, actContext),
    }
  }

  function hold(about: string): PlannedAct | undefined {
    const { cleaner, deliveries, crawler } = loops
    const planned = (effect: string, run: PlannedAct['run']): PlannedAct => ({
      name: 'hold',
      about,
      question: `In this process ${about} will stop for ${durationText(HOLD_MS)}. ${effect}`,
      endLabel: `Start ${about}`,
      run,
    })
    if (about === LOOPS.cleaner && cleaner !== undefined)
      return planned('Pages stay correct; dangling rows stay longer.', (act) =>
        holdLoop(cleaner, HOLD_MS, act),
      )
    if (about === LOOPS.deliveries && deliveries !== undefined)
      return planned('New entries come to home pages later.', (act) =>
        holdDeliveries(data, deliveries, HOLD_MS, act),
      )
    if (about === LOOPS.crawler && crawler !== undefined)
      return planned('Sources are fetched later.', (act) => holdCrawler(data, crawler, HOLD_MS, act))
    return undefined
  }

  function plan(name: string, about: string): PlannedAct | undefined {
    if (name === 'hold') return hold(about)
    if (name === 'kill' || name === 'stop') return shards && shardFault(shards, name, about)
    const entry = indexes.includes(about) ? entryOf(about) : undefined
    if (entry === undefined) return undefined
    if (name === 'clean') return { name, about, run: (actContext) => cleanWithProgress(about, actContext) }
    return {
      name,
      about,
      run: async ({ setOutcome }) => {
        let total = 0
        await plantRows(context, entry, PER_SHARD, (rows) => {
          total += rows
          planted.set(about, (planted.get(about) ?? 0) + rows)
          setOutcome(`${capital(counted(total, 'row'))} planted.`)
        })
      },
    }
  }

  return {
    name: 'faults',
    label: 'Break it',
    title: 'Break it, watch it heal',
    lead: markup`A writer that dies between its index rows and its commit leaves dangling rows. Plant such rows, and load pages of the site: the pages stay correct, and their X-rays
show how many rows they have discarded. Then clean the index, and the pages discard none; a running cleaner does this once a day. Planted rows are at both ends of the index and five minutes old, because a cleaning skips younger rows.`,
    suggestion: (address) =>
      markup`<a href="${address}">Break it</a>: plant dangling index rows, or kill a write halfway. Pages stay correct, and a cleaner repairs the index.`,
    acts: ['hold', 'kill', 'stop', 'clean', 'plant'],
    async part({ running }) {
      const body = markup`${indexes.map((name) => section(name, running))}${loops.cleaner && (await cleanerSection(running))}${(loops.deliveries ?? loops.crawler) && loopsSection(running)}${shards && shardsSection(running)}<p class="soft">The numbers count events of this process since its start.</p>`
      return { body }
    },
    plan,
  }
}

type ShardReport = Awaited<ReturnType<typeof readShardReports>>[number]

function lagOf({ name, lagMs, isFollowed, error }: ShardReport): Html {
  const lag = error !== undefined ? error.message : lagMs === undefined ? 'unknown' : durationText(lagMs)
  return markup`<dt>${name}</dt><dd>${lag}${isFollowed || error !== undefined ? '' : ', and no cleaner follows it now'}</dd>`
}
