import { cleanIndex } from '@looseleaf/cleaner'
import { readShardReports } from '@looseleaf/cleaner/internal'
import { LooseleafError } from '@looseleaf/core'
import { describeKind, durationText, platformTime, type CatalogEntry } from '@looseleaf/core/internal'
import type { DataStore } from '@looseleaf/store'
import { actOrState, createActPage, type ActPage } from '../acts/act-page.ts'
import type { Acts, PlannedAct, ActContext } from '../acts/acts.ts'
import { actsPart, resultOf } from '../acts/acts-part.ts'
import { Refusal } from '../acts/refusal.ts'
import { readPart } from '../requests/read-part.ts'
import { markup, type Html } from '../html/html.ts'
import { purposeOf, type Purposes } from '../indexes/purposes.ts'
import { LIMIT_MS, type Answer } from '../requests/routes.ts'
import { capital, counted } from '../html/text.ts'
import { BROKEN_MS, crashPoints, killNextWrite, stopShard, type CrashPoint } from './break-shards.ts'
import { HOLD_MS, holdCleaner, type HeldCleaner } from './hold-cleaner.ts'
import { plantRows } from './plant-rows.ts'
import type { RowCounts } from './row-counts.ts'
import type { ShardFaults } from './shard-faults.ts'

export interface FaultsOptions {
  /** Names of the indexes that may be broken. */
  readonly indexes: readonly string[]
  /** Result of `createRowCounts`. The store's observer must call its `happened`. */
  readonly counts: RowCounts
  /** The cleaner of this process, which the page may hold for a minute. Default: the page has no such button. */
  readonly cleaner?: HeldCleaner | undefined
  /** Result of `createShardFaults`, whose `shards` the store was opened with. Default: no buttons that stop shards or kill writes. */
  readonly shards?: ShardFaults | undefined
}

export interface FaultsContext {
  readonly store: Pick<DataStore, 'context'>
  readonly base: string
  readonly purposes: Purposes
  readonly acts: Acts
  readonly html: (answer: Answer) => string
}

/** Number of rows that an act plants on each shard. */
const PER_SHARD = 20
/** Subject of acts on the cleaner. */
const CLEANER = 'the cleaner'
/** Returns the subject of an act that kills a write. */
const victim = (crashPoint: CrashPoint): string => `a write ${crashPoint}`

/** Returns the write that an act kills. A write killed after its commit leaves a trace only if it had index rows to delete. */
const targetText = (crashPoint: CrashPoint): string =>
  crashPoint === 'before its commit' ? 'The next write' : 'The next write that removes an index row'
/** Largest number of shards with a button. */
const MAX_SHARDS = 16

/** Creates the page that plants dangling rows and cleans them, and that makes shards fail. Throws `BAD_OPTION`. */
export function createFaults(
  { indexes, counts, cleaner, shards }: FaultsOptions,
  { store, base, purposes, acts, html }: FaultsContext,
): ActPage {
  if (!Array.isArray(indexes) || typeof counts?.happened !== 'function') {
    throw new LooseleafError(
      'BAD_OPTION',
      `createConsole takes { faults: { indexes, counts } }, an array of index names and a result of createRowCounts; got ${describeKind(indexes)} and ${describeKind(counts)}.`,
    )
  }
  if (cleaner !== undefined && (typeof cleaner?.stop !== 'function' || typeof cleaner.start !== 'function')) {
    throw new LooseleafError(
      'BAD_OPTION',
      `createConsole takes { faults: { cleaner: { stop, start } } }, two functions; got ${describeKind(cleaner)}.`,
    )
  }
  if (shards !== undefined && typeof shards?.refusals?.has !== 'function') {
    throw new LooseleafError(
      'BAD_OPTION',
      `createConsole takes { faults: { shards } }, a result of createShardFaults; got ${describeKind(shards)}.`,
    )
  }
  const { context } = store
  const planted = new Map<string, number>()

  const entryOf = (name: string): CatalogEntry | undefined =>
    context.catalog
      .current()
      .indexes.find((entry) => entry.name === name && entry.state === 'ready' && !entry.unique)

  function section(name: string): Html {
    const { discarded, removed } = counts.of(name)
    if (entryOf(name) === undefined)
      return markup`<h2>${name}</h2><p>The store has no ready index of this name.</p>`
    return markup`<section><h2>${name}</h2>${purposeOf(purposes, name)}
<dl><dt>planted</dt><dd>${counted(planted.get(name) ?? 0, 'row')}</dd><dt>discarded by queries</dt><dd>${counted(discarded, 'time')}</dd><dt>deleted by cleaners</dt><dd>${counted(removed, 'row')}</dd></dl>
<p class="acts">${actOrState(acts.underWay(), 'plant', name, `Plant rows in ${name}`, 'Being planted')}${actOrState(acts.underWay(), 'clean', name, `Clean ${name}`, 'Being cleaned')}</p></section>`
  }

  async function cleanerSection(): Promise<Html> {
    const { value, failure } = await readPart(
      (signal) => readShardReports({ context }, { signal }),
      platformTime.abortAfter(LIMIT_MS),
    )
    const lags = value?.map(
      ({ name, lagMs, isFollowed, error }) =>
        markup`<dt>${name}</dt><dd>${error !== undefined ? error.message : lagMs === undefined ? 'unknown' : durationText(lagMs)}${isFollowed || error !== undefined ? '' : ', and no cleaner follows it now'}</dd>`,
    )
    return markup`<section><h2>The cleaner</h2><p>The lag of the cleaner on each shard. Some seconds are normal.</p>
${lags === undefined ? markup`<p>${failure}</p>` : markup`<dl>${lags}</dl>`}
<p class="acts">${actOrState(acts.underWay(), 'hold', CLEANER, 'Hold the cleaner', 'Held')}</p></section>`
  }

  function shardsSection(): Html {
    const names = context.driver.shards.map(({ name }) => name)
    return markup`<section><h2>A write</h2><p>These buttons kill the next write of an entity between two of its steps. Before its commit: the caller gets an error, and the new index rows dangle until a cleaning of the index. A cleaning skips rows
younger than a minute, because their writer may still be running. After its commit: the lost rows stay until the cleaner follows the write some seconds later. This needs a write
that removes an index row, such as a delete. Hold the cleaner first if you want time to look.</p>
<p class="acts">${crashPoints.map((crashPoint) => actOrState(acts.underWay(), 'kill', victim(crashPoint), `Kill ${victim(crashPoint)}`, `Armed to kill ${victim(crashPoint)}`))}</p></section>
<section><h2>The shards</h2><p>Pages of the site that need a stopped shard show an error; on a small site these are nearly all pages. The console keeps working.</p>
<p class="acts">${names.slice(0, MAX_SHARDS).map((name) => actOrState(acts.underWay(), 'stop', name, `Stop ${name}`, `${name} is stopped`))}</p></section>`
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

  function shardFaultOf(faults: ShardFaults, form: URLSearchParams): PlannedAct | undefined {
    const crashPoint = crashPoints.find((each) => victim(each) === form.get('kill'))
    if (crashPoint !== undefined)
      return {
        name: 'kill',
        about: victim(crashPoint),
        question: `${targetText(crashPoint)} within ${durationText(BROKEN_MS)} is killed ${crashPoint}${crashPoint === 'before its commit' ? ', and its caller gets an error' : ''}.`,
        endLabel: 'Cancel',
        run: (actContext) => killNextWrite(faults, crashPoint, BROKEN_MS, actContext),
      }
    const stopped = context.driver.shards.find(({ name }) => name === form.get('stop'))
    if (stopped === undefined) return undefined
    const { name } = stopped
    return {
      name: 'stop',
      about: name,
      question: `For ${durationText(BROKEN_MS)} this process gets errors from it instead of answers. Calls that need it fail, and pages show the error.`,
      endLabel: `Bring ${name} back`,
      run: (actContext) => stopShard(faults, name, BROKEN_MS, actContext),
    }
  }

  function planAct(form: URLSearchParams): PlannedAct {
    if (cleaner !== undefined && form.get('hold') === CLEANER)
      return {
        name: 'hold',
        about: CLEANER,
        question: `The cleaner of this process stops, and starts again after ${durationText(HOLD_MS)}. Pages stay correct; dangling rows stay longer.`,
        endLabel: 'Start the cleaner',
        run: (actContext) => holdCleaner(cleaner, HOLD_MS, actContext),
      }
    const fault = shards && shardFaultOf(shards, form)
    if (fault !== undefined) return fault
    const about = form.get('plant') ?? form.get('clean') ?? ''
    const entry = indexes.includes(about) ? entryOf(about) : undefined
    if (entry === undefined) throw new Refusal(404, 'No ready index of this name may be broken.')
    if (!form.has('plant'))
      return { name: 'clean', about, run: (actContext) => cleanWithProgress(about, actContext) }
    return {
      name: 'plant',
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

  return createActPage({
    path: `${base}/faults`,
    title: 'Break it, watch it heal',
    lead: markup`A writer that dies between its index rows and its commit leaves dangling rows. Plant such rows, and load pages of the site: the pages stay correct, and their X-rays
show how many rows they have discarded. Then clean the index, and the pages discard none; a running cleaner does this once a day. Planted rows are at both ends of the index and five minutes old, because a cleaning skips younger rows.`,
    acts,
    part: async () => {
      const [last] = acts.list()
      // Without the numbers, which change with every page of a busy site.
      const news = last === undefined ? '' : `${last.name} ${last.about}: ${resultOf(last)}`
      return markup`<div data-news="${news}">
${indexes.map(section)}${cleaner === undefined ? undefined : await cleanerSection()}${shards === undefined ? undefined : shardsSection()}${actsPart(acts.list(), acts.underWay())}<p class="soft">The numbers count events of this process since its start.</p></div>`
    },
    planAct,
    html,
  })
}
